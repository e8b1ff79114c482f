"""Jobs: many ranks and iterations compared, on all cores or on many machines, and put together to one result.

In: two trees of a job (`compare_job.compare_job`). Out: a `job.JobResult`: who parts first, where, and who follows.
A unit is one rank in one iteration (`units`); it is compared alone (`run`) and leaves a file and a small summary,
dask says where (`engine`), and summaries become the result (`merge`), without a row of any tensor.
Added here: what is to be known of every unit is a field of `summary.UnitSummary`; dask and fsspec are known here alone.
"""

"""Operators of the target computed again from the inputs that they had: what each adds to the error by itself.

In: the pairing of two dumps. Out: `forecast.Forecast` (statistics against what the target should have given) and
`replay.Replay` (own errors by execution and operator, and why others have none); both are frozen.
A new name of an operator is a row of `workbench.ops.aliases`, a new way to know what one computes a row of
`lowering.LOWERING_RULES`, a new place to find an input in a row of `inputs.INPUT_SOURCES`. Devices come from
`workbench.npu.profiles` (`models`). `operator_file` has the format of one operator alone.
"""

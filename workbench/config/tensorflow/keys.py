"""Names that npu_bridge knows: keys of ``parameter_map`` with their proto member, and arguments.

Facts: hicann/tensorflow ``tf_adapter/util/npu_attrs.cc`` (which member of ``AttrValue`` each key is
read from) and ``npu_bridge/estimator/npu/npu_config.py`` (the signature of ``NPURunConfig``).
"""

from __future__ import annotations

from workbench.config.tensorflow.settings import Dump, Run

JUDGED = {
    "use_off_line": "b",
    "enable_dump": "b",
    "enable_dump_debug": "b",
    "enable_exception_dump": "i",
    **dict.fromkeys([key for key in Dump.fields if not key.startswith("enable_")], "s"),
    **dict.fromkeys([key for key in Run.fields if not key.startswith("enable_")], "s"),
}
"""Keys that the form declares, with the member that they are read from."""

_BOOLS = """
all_tensor_not_empty compile_dynamic_mode dynamic_input enable_compress_weight enable_data_pre_proc
enable_graph_parallel enable_reduce_precision external_weight frozen_variable hcom_multi_mode
hcom_parallel in_out_pair_flag input_batch_cpy is_tailing_optimization lower_functional_ops
min_group_size mix_compile_mode oo_constant_folding profiling_mode variable_format_optimize
"""
_INTEGERS = """
atomic_clean_policy compile_hybrid_mode deterministic dynamic_node_type enable_small_channel
event_sync_timeout export_compile_stat graph_exec_timeout graph_max_parallel_model_num
graph_run_mode hccl_timeout input_fusion_size iterations_per_loop local_rank_id op_debug_level
op_execute_timeout op_wait_timeout session_device_id static_memory_policy stream_sync_timeout
task_index topo_sorting_mode variable_use_1g_huge_page
"""
_TEXTS = """
HCCL_algorithm ac_parallel_enable aicore_num aoe_config_file aoe_mode auto_multistream_parallel_mode
auto_tune_mode buffer_optimize compress_weight_conf customize_dtypes debug_dir device_type
distribute_config dynamic_dims dynamic_graph_execute_mode dynamic_inputs_shape_range
enable_scope_fusion_passes experimental_accelerate_train_mode
experimental_logical_device_cluster_deploy_mode experimental_logical_device_id
experimental_model_deploy_devicelist experimental_model_deploy_mode fusion_switch_file
graph_compiler_cache_dir graph_memory_max_size graph_parallel_option_path graph_slice in_out_pair
input_shape insert_op_file jit_compile job local_device_list memory_optimization_policy oo_level
op_compiler_cache_dir op_compiler_cache_mode op_debug_config op_precision_mode optimization_switch
profiling_options resource_config_path shape_generalization_mode soc_config stream_max_parallel_num
variable_memory_max_size variable_placement work_path
"""

MEMBERS = {
    **JUDGED,
    **dict.fromkeys(_BOOLS.split(), "b"),
    **dict.fromkeys(_INTEGERS.split(), "i"),
    **dict.fromkeys(_TEXTS.split(), "s"),
}
"""Every key of ``parameter_map`` that npu_bridge reads: ``b`` bool, ``i`` integer, ``s`` bytes."""

DUMP_ARGUMENTS = tuple(Dump.fields)
"""Arguments of ``DumpConfig`` in order."""

_RUN = """
iterations_per_loop profiling_config model_dir tf_random_seed save_summary_steps
save_checkpoints_steps save_checkpoints_secs session_config keep_checkpoint_max
keep_checkpoint_every_n_hours log_step_count_steps distribute enable_data_pre_proc precision_mode
enable_reduce_precision variable_format_optimize mix_compile_mode hcom_parallel
graph_memory_max_size variable_memory_max_size dump_config stream_max_parallel_num
is_tailing_optimization horovod_mode graph_run_mode op_debug_level enable_scope_fusion_passes
enable_exception_dump op_select_implmode optypelist_for_implmode dynamic_input_config aoe_mode
work_path buffer_optimize enable_small_channel fusion_switch_file enable_compress_weight
compress_weight_conf op_compiler_cache_mode op_compiler_cache_dir debug_dir hcom_multi_mode
dynamic_input dynamic_graph_execute_mode dynamic_inputs_shape_range train_distribute
eval_distribute local_rank_id local_device_list session_device_id distribute_config modify_mixlist
op_precision_mode device_type soc_config hccl_timeout op_wait_timeout op_execute_timeout
HCCL_algorithm customize_dtypes op_debug_config memory_config experimental_config topo_sorting_mode
aoe_config_file insert_op_file stream_sync_timeout event_sync_timeout external_weight deterministic
frozen_variable variable_placement jit_compile precision_mode_v2 ac_parallel_enable quant_dumpable
input_fusion_size compile_dynamic_mode graph_max_parallel_model_num export_compile_stat aicore_num
oo_constant_folding input_batch_cpy shape_generalization_mode all_tensor_not_empty
auto_multistream_parallel_mode oo_level optimization_switch
"""

RUN_ARGUMENTS = tuple(_RUN.split())
"""Arguments of ``NPURunConfig`` in order."""

UNTOLD = ("dump_config", "session_config")
"""Arguments of ``NPURunConfig`` that the form says in other ways."""

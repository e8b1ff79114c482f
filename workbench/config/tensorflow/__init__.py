"""TensorFlow on Ascend: npu_bridge's dump settings in a training script."""

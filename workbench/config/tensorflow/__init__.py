"""TensorFlow on Ascend: npu_bridge's dump settings in a training script.

In: the text of a script: `find` says what it does, `script` which of that counts, `lint` what is wrong with it.
Out: `surface.TENSORFLOW`, a row of functions and tables.
Added here: a setting in `settings`, a rule on the form in `refusals` or `hints`, one on the text in `lint`.
"""

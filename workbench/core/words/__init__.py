"""What the workbench says: a code with its values, turned into a sentence at the very end.

Comes in: a code ``area/name`` and the values it is about. Goes out: `Message`, whose ``str`` is the sentence;
`sentence` where the text alone is wanted; errors (`workbench.core.errors`) carry a code in the same way.
`RowMessage` is the same for words that stand in a row which holds all that is known of a thing, such as a rule.
To add one: a line in the table of its area (`workbench.core.words.dump` …); `tests/words/` shows every sentence
with values of a real run.
Nothing decides by a sentence: compare codes and values.
"""

from workbench.core.words.message import Message, RowMessage
from workbench.core.words.render import sentence

__all__ = ["Message", "RowMessage", "sentence"]

"""A page as a parser of the standard library reads it."""

import re
from html.parser import HTMLParser


class Reader(HTMLParser):
    """Elements and text of a document; fails on elements that are closed in the wrong order."""

    VOID = frozenset({"meta", "br", "wbr", "input", "path", "hr", "col", "link"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.words, self.attributes = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []
        self.text = re.sub(r"\s+", " ", "".join(self.words))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open and "script" not in self.open:
            self.words.append(data)

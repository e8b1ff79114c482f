"""Messages of protobuf in any encoding, by a `Schema`: a table of fields that knows nothing of what they mean.

In: bytes or text of files that nobody vouches for. Out: Python values, or a FormatError with the byte or the caret.
A vendor's messages are added as one `schema.Schema` in the package that reads them, nothing here.
"""

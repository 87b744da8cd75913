# SPDX-License-Identifier: Apache-2.0
"""Tables for any library that supports the Arrow PyCapsule interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from tidemark_buffer._native import NativeTable


class Table:
    """Rows and columns of a run.

    A table of packets, samples or events is read from the files each time it is used, a few
    thousand rows at a time, so that it may be larger than memory. Libraries accept it
    directly::

        pyarrow.table(table)
        polars.DataFrame(table)
        duckdb.sql("select count(*) from table")

    Whole numbers are ``int64``, or the unsigned type of 8, 16 or 32 bits that the capture
    stores. A missing value is null.

    A damaged file is noticed when its rows are read: the library that reads it then raises its
    own exception, with the place and the remedy in the text of
    :class:`~tidemark_buffer.RunError`.
    """

    def __init__(self, native: NativeTable) -> None:
        self._native = native

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow C stream, for other libraries."""
        return self._native.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The columns as an Arrow C schema, for other libraries."""
        return self._native.__arrow_c_schema__()

    @property
    def columns(self) -> dict[str, str]:
        """Names of the columns, with the Arrow type of each."""
        return dict(self._native.columns())

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a ``pyarrow.Table``; needs pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a ``pandas.DataFrame``; needs pandas and pyarrow.

        Its columns have Arrow's types, so that integers with nulls stay integers: with
        pandas' own types, times in a column with nulls would become floats and lose their
        last digits.
        """
        import pandas

        return self.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)

    def to_polars(self) -> polars.DataFrame:
        """All rows as a ``polars.DataFrame``; needs polars."""
        import polars

        return polars.DataFrame(self)

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}: {kind}" for name, kind in self.columns.items())
        return f"Table({columns})"

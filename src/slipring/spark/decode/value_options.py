# SPDX-License-Identifier: Apache-2.0
"""The options that turn values into columns: valueFormat, valueSchema, valueDtype and mode."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types as T

from ..errors import BadOption
from ..option_text import OptionTexts
from . import ddl, numpy_values

NAMES = ("valueFormat", "valueSchema", "valueDtype", "mode")
AUTO, RAW = "auto", "raw"  # by the schema of the topics, and as bytes
MODES = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")


@dataclass(frozen=True)
class ValueOptions:
    format: str
    schema: str | None
    dtype: str | None
    mode: str

    def columns(self) -> T.StructType:
        """Return the decoded columns."""
        if self.schema is None:
            if self.format == "numpy":
                return numpy_values.schema_of(numpy_values.dtype_of(self.dtype))
            raise BadOption("valueSchema", 'it is missing: name the columns, such as "x DOUBLE, y DOUBLE"')
        try:
            schema = ddl.parse(self.schema)
        except ddl.BadSchema as error:
            raise BadOption("valueSchema", str(error)) from None
        if not schema.fields:
            raise BadOption("valueSchema", "it names no column")
        return schema


def parse(texts: OptionTexts) -> ValueOptions | None:
    """Return the options; None: values are not decoded, or by the schema of their topics (`mode_of`)."""
    found = format_of(texts)
    if found in (AUTO, RAW):
        for option in NAMES[1:]:
            if option in texts and (option, found) != ("mode", AUTO):
                why = f"it requires option valueFormat with the format of the values, not {found}"
                raise BadOption(option, why)
        return None
    return ValueOptions(
        found,
        texts.text("valueSchema"),
        texts.text("valueDtype"),
        mode_of(texts),
    )


def format_of(texts: OptionTexts) -> str:
    """Return option valueFormat; the words auto and raw may be written in any case."""
    text = (texts.text("valueFormat") or AUTO).strip()
    return text.lower() if text.lower() in (AUTO, RAW) else text


def mode_of(texts: OptionTexts) -> str:
    return texts.choice("mode", MODES) or MODES[0]

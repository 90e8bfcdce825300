"""Records of the log as TensorBoard's events. Pure functions of the TensorBoard tracker."""

from collections.abc import Callable, Iterator
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.histogram_pb2 import HistogramProto
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING

from rltrain_trainer.log.records import Entry, Histogram, Parameters, Scalars, Table, Text
from rltrain_trainer.tracking.markdown import markdown_table, verbatim

Naming = Callable[[str, str], str]
PARAMETERS_TAG = "run/parameters"


def event_of(entry: Entry, name_of: Naming) -> Any:
    """The event of an entry, with `name_of(kind, name)` as tags; its summary is empty when there is nothing to show.

    Parameters are text, with the attempt's number as step.
    """
    record = entry.record
    step = entry.attempt if isinstance(record, Parameters) else record.step
    return Event(wall_time=entry.time, step=step, summary=Summary(value=_values(entry, name_of)))


def version_event(time: float) -> Any:
    """The event that every event file begins with."""
    return Event(wall_time=time, file_version="brain.Event:2")


def _values(entry: Entry, name_of: Naming) -> Iterator[Any]:
    match entry.record:
        case Scalars(values=values):
            for name, value in values.items():
                yield Summary.Value(tag=name_of("scalars", name), simple_value=value)
        case Histogram(name=name) as histogram:
            yield Summary.Value(tag=name_of("histogram", name), histo=_histogram(histogram))
            if histogram.nonfinite:
                yield Summary.Value(tag=name_of("scalars", f"nonfinite/{name}"), simple_value=histogram.nonfinite)
        case Text(name=name, text=text):
            yield _text(name_of("text", name), verbatim(text))
        case Table(name=name, columns=columns, rows=rows):
            yield _text(name_of("table", name), markdown_table(columns, rows))
        case Parameters(values=values):
            yield _text(PARAMETERS_TAG, markdown_table(["parameter", "value"], list(values.items())))


def _histogram(histogram: Histogram) -> Any:
    return HistogramProto(
        min=histogram.minimum,
        max=histogram.maximum,
        num=sum(histogram.counts),
        sum=histogram.total,
        sum_squares=histogram.total_of_squares,
        bucket_limit=histogram.edges[1:],
        bucket=histogram.counts,
    )


def _text(tag: str, markdown: str) -> Any:
    # Half of a surrogate pair has no UTF-8 form; it is shown as a question mark.
    text = markdown.encode(errors="replace")
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    tensor = TensorProto(dtype=DT_STRING, tensor_shape=TensorShapeProto(), string_val=[text])
    return Summary.Value(tag=tag, metadata=metadata, tensor=tensor)

# SPDX-License-Identifier: Apache-2.0
"""How many deliveries a second from one publisher to 1, 4, 16, 64 subscriber processes, and what does a send cost it?

The publisher sends 64 B as fast as it may. Every subscriber takes one message at a time, those of ``slipring-lists``
what is there (``recv_many``), and reads each. A delivery is a message that reached one subscriber; the time runs
from the first send to the last subscriber's last message. Everybody is set to deliver everything but ``slipring-
lossy``, whose publisher waits for nobody; ``lost_share`` is what did not arrive. ``ns_per_send`` is the median of
blocks, so that it leaves out when the publisher had to wait or had no processor; ``cpu_ns_per_delivery`` is the
processor time of all processes, which a busy machine changes least (a server's own time is not in it).
"""

from itertools import repeat
from statistics import median
from time import perf_counter_ns, process_time_ns

from slipring.bench.case import Case
from slipring.bench.processes import ControlLine, Workers
from slipring.bench.transport import Send, Transport

TITLE = "One publisher to many subscriber processes"
FIGURE = "deliveries_per_s"
FURTHER_FIGURES = ("ns_per_send", "cpu_ns_per_delivery", "lost_share")
SIZE = 64
SUBSCRIBERS = (1, 4, 16, 64)
NAMES = (
    "slipring-lossy",
    "slipring",
    "slipring-lists",
    "zmq-pub-sub",
    "iceoryx2-fan-out",
    "redis-pipelined",
    "msgq",
)
# msgq has room for 15 readers.
MOST = {"msgq": 4}
BODY, WARM, END = bytes(range(SIZE)), bytes(SIZE), bytes(reversed(range(SIZE)))
WARMING_UP = 0.4
BLOCK = 100


def cases(quick: bool) -> list[Case]:
    names = NAMES[:4] if quick else NAMES
    return [
        Case("fanout", name, {"subscribers": count})
        for count in ((4,) if quick else SUBSCRIBERS)
        for name in names
        if count <= MOST.get(name, count)
    ]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> dict[str, float]:
    count = case.settings["subscribers"]
    transport = kind(place, SIZE)

    def subscribe(line: ControlLine) -> None:
        receive = transport.receiver("there")
        line.meet()
        transport.until(receive, WARM)
        missed, cpu = transport.lost(), process_time_ns()
        line.meet()
        received = transport.until(receive, END)
        line.tell([received, perf_counter_ns(), process_time_ns() - cpu, missed, transport.lost()])
        line.hear()
        transport.close()

    def say(body: bytes) -> None:
        send(body)
        transport.flush()

    with Workers() as workers:
        lines = [workers.start(subscribe) for _ in range(count)]
        for line in lines:
            line.meet()
        send = transport.publisher("there", count)
        publish(send, seconds * WARMING_UP)
        say(WARM)
        for line in lines:
            line.meet()
        first, cpu = perf_counter_ns(), process_time_ns()
        blocks = publish(send, seconds)
        send_cpu = process_time_ns() - cpu
        say(END)
        told = [line.hear() for line in lines]
        cpu = process_time_ns() - cpu + sum(each[2] for each in told)
        for line in lines:
            line.tell("done")
        transport.close()
    sent, received = len(blocks) * BLOCK, sum(each[0] for each in told)
    for got, _, _, missed, lost in told:
        if got > sent or (lost is not None and got + lost - missed != sent):
            raise AssertionError(f"{got} received and {lost} lost, {missed} of them before, of {sent} sent")
    return {
        FIGURE: received * 1e9 / (max(each[1] for each in told) - first),
        "ns_per_send": median(blocks),
        "cpu_ns_per_send": send_cpu / sent,
        "cpu_ns_per_delivery": cpu / received,
        "lost_share": 1 - received / (sent * count),
        "messages": sent,
    }


def publish(send: Send, seconds: float) -> list[float]:
    """ns of each send, by blocks."""
    blocks: list[float] = []
    end = perf_counter_ns() + seconds * 1e9
    while (start := perf_counter_ns()) < end:
        for _ in repeat(None, BLOCK):
            send(BODY)
        blocks.append((perf_counter_ns() - start) / BLOCK)
    return blocks

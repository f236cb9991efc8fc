"""Damage of every sort that docs/format.md names (format 8), and killed processes."""

import struct

from builder import (
    EVAL, LOST, PERTURBED, RUNS, START, START_NS, TRAIN, at, calibration, control,
    counter, frame, hook, info, mark, name, open_span, plan, record, run, sample,
    span, spans, step, system, thread_begin, thread_end, two_texts)

FILE = "p-100-77-00000000000000aa.ssp"
T = START


# Bad records


def after_a_bad_record(*bad, **header):
    """Each of the bad ones once at the start of a lane's block, and once in a segment."""
    process = control(**header)
    for lane, one in enumerate(bad, start=1):
        first = lane - lane % 7
        if first not in process.directories:
            process.directory(first)
        process.block(lane, spans(T, 2), one, spans(T + 100, 2))
    for lane, one in enumerate(bad, start=1):
        process.records(lane, 1, spans(T + 200, 1), one, spans(T + 300, 2))
        process.records(lane, 2, spans(T + 400, 1))
    return process


@run
def bad_heads():
    return after_a_bad_record(record(0, bytes(24)), record(0, bytes(24), name=1),
                              record(1, bytes(24), units=0),
                              record(99, bytes(24), units=0),
                              record(0, bytes(24), units=0, nest=1))


@run
def bad_units():
    return after_a_bad_record(plan(T + 9, units=1),
                              calibration(T + 9, START_NS + 9, units=1))


@run
def bad_lengths():
    full = {"units": 2}
    return after_a_bad_record(
        mark(T + 9, b"x" * 40, length=41, **full), mark(T + 9, b"", length=9),
        hook(T + 9, b"x" * 20, b"y" * 20, lengths=(20, 21), **full),
        frame(1, 1, b"x" * 20, b"y" * 20, lengths=(0xFFFF, 0xFFFF), **full),
        name(1, b"x" * 20, b"y" * 20, lengths=(41, 0), **full),
        info(b"x" * 20, b"y" * 20, lengths=(0, 41), **full),
        two_texts(18, struct.pack("<QI", T + 9, 7), b"x" * 40, b"", lengths=(41, 0),
                  **full),
        sample(T + 9, 1, [1, 2], count=3),
        sample(T + 9, 1, [1] * 10, count=0x4000, **full))


@run
def second_lengths_that_do_not_count():
    """Offset 22 is reserved in marks, samples and thread_begins: it is ignored."""
    process = control()
    body = struct.pack("<QIHH", T + 9, 7, 2, 0xFFFF) + b"ab345678"
    process.block(1, *(record(kind, body) for kind in (8, 11, 18)), spans(T + 20, 1))
    return process


@run
def bad_order_of_start_and_end():
    return after_a_bad_record(span(T + 9, T + 8), span(T + 9, T + 8, 1, PERTURBED),
                              span(T + 9, T + 8, 1, LOST), span(T + 9, 0))


def one_of_each_with_ticks(ticks):
    """Records of every kind that has ticks, all of them at the same time."""
    return [span(ticks, ticks), step(ticks), *(at(kind, ticks) for kind in (3, 4, 5, 6)),
            counter(ticks, 1.0), mark(ticks, b"m"), plan(ticks), calibration(ticks, 1),
            sample(ticks, 1, [1]), hook(ticks, b"t"), span(ticks, ticks, 1, PERTURBED),
            system(ticks, 1.0), thread_begin(ticks, 5), thread_end(ticks),
            span(ticks, ticks, 1, LOST)]


@run
def ticks_before_the_start():
    return after_a_bad_record(*one_of_each_with_ticks(T - 1), span(T - 1, T + 5))


def around_the_horizon(horizon, **header):
    process = control(**header)
    process.block(1, *one_of_each_with_ticks(horizon))
    process.block(2, spans(T, 1), span(T, horizon + 1), spans(T, 1))
    process.block(3, spans(T, 1), step(horizon + 1), spans(T, 1))
    process.block(4, spans(T, 1), step(horizon), spans(T, 1))
    process.block(5, spans(T, 1), span(horizon, 2**64 - 1), spans(T, 1))
    process.block(6, spans(T, 1), frame(1, 1, b"f", b"g"), spans=[open_span(horizon + 1)])
    return process


@run
def horizon_after_the_end():
    return around_the_horizon(T + 5000 + 3600 * 10, ticks_per_s=10, beats=1,
                              end_ticks=T + 5000,
                              beat1_ticks=T + 4000, beat0_ticks=T + 3000)


@run
def horizon_after_the_whole_beat():
    return around_the_horizon(T + 5000 + 3600 * 10, ticks_per_s=10, beats=1, state=1,
                              end_ticks=0,
                              beat1_ticks=T + 5000, beat0_ticks=T + 3000)


@run
def horizon_after_the_other_beat():
    return around_the_horizon(T + 5000 + 3600 * 10, ticks_per_s=10, beats=1, state=1,
                              end_ticks=0,
                              beat1_ticks=T + 4000, beat0_ticks=T + 5000)


@run
def horizon_after_the_start():
    return around_the_horizon(T + 3600 * 10, ticks_per_s=10, beats=2, state=1, end_ticks=0)


@run
def horizon_without_beats():
    return around_the_horizon(T + 5000 + 3600 * 10, ticks_per_s=10, beats=0,
                              end_ticks=T + 5000)


@run
def horizon_beyond_all_ticks():
    return around_the_horizon(2**64 - 2, ticks_per_s=2**64 - 1, beats=1,
                              end_ticks=T + 5000)


@run
def horizon_just_beyond_all_ticks():
    return around_the_horizon(2**64 - 2, ticks_per_s=1, beats=1, end_ticks=2**64 - 3600)


@run
def records_that_do_not_fit():
    process = control()
    process.block(1, spans(T, 190), record(8, struct.pack("<Q", T + 5000), units=3))
    process.block(2, spans(T, 190), mark(T + 5000, b"x" * 40))
    process.block(3, record(200, bytes(24), units=193))
    process.block(4, record(200, b"\1" * 24, units=192))
    process.records(1, 1, spans(T, 2044), record(8, bytes(24), units=3))
    process.records(2, 1, spans(T, 2044), mark(T + 30000, b"x" * 40))
    process.records(2, 2, spans(T, 2045), record(99, bytes(24), units=2))
    return process


# Files


@run
def no_process_files():
    good = control()
    files = {"a-empty.ssp": b"", "b-short.ssp": good.bytes(1023),
             "c-noise.ssp": b"\xa5" * 3000}
    for letter, header in zip("defgh", ({"magic": b"stepscoq"}, {"segment_bytes": 4096},
                                        {"block_bytes": 0}, {"inline_offset": 2049},
                                        {"min_reader": 2, "version": 2})):
        files[f"{letter}-other.ssp"] = control(**header)
    process = control()
    process.block(1, spans(T, 2))
    files["i-good.ssp"] = process
    return files


@run
def nothing_but_no_process_files():
    return {"a.ssp": b"", "b.ssp": b"x" * 2000}


@run
def a_newer_version():
    process = control(version=2, min_reader=1)
    process.block(1, spans(T, 2))
    return process


@run
def a_reader_too_old():
    return control(min_reader=2, version=2)


@run
def min_reader_0():
    process = control(min_reader=0, version=0)
    process.block(1, spans(T, 2))
    return process


@run
def files_that_are_not_known():
    process = control()
    process.block(1, spans(T, 2))
    return {FILE: process, "manifest": b"format: 1\n", ".gitignore": b"*\n",
            "x.ssp.bak": b"?", "ssp": b"?", "q.SSP": b"?"}


@run
def a_run_without_files():
    return {"manifest": b"format: 1\n"}


def cuttable():
    process = control()
    process.block(1, spans(T, 5), spans=[open_span(T + 60)])
    process.records(1, 1, spans(T + 100, 3), mark(T + 200, b"m" * 100), spans(T + 300, 3))
    process.directory(7)
    process.block(7, spans(T, 2))
    process.block(8, spans(T, 2))
    process.records(7, 1, spans(T + 100, 2046))
    return process


# Sizes to which the file above is cut: around every border that format 8.1 to 8.5 know.
CUTS = [1024, 1025, 8191, 8192, 8193, 16383, 16384, 16385, 20000, 24575, 24576, 24577,
        32768, 60000, 65535, 65536, 65537, 65599, 65600, 65601, 65631, 65632, 65633,
        65696, 65700, 65727, 65728, 65760, 65823, 65824, 65855, 65856, 65951, 65952,
        70000, 131071, 131072, 131135, 131136, 139264, 139265, 147455, 147456, 155648,
        163839, 163840, 190000, 196608, 196671, 196672, 196673, 196704, 230000, 262112,
        262143]


def cut(size):
    return lambda: cuttable().bytes(size)


for _size in CUTS:
    RUNS[f"cut_at_{_size}"] = cut(_size)
RUNS["cut_nowhere"] = cuttable


# Open spans, and how a process ended


def dying(spans=(), records=(), **header):
    """A process with one lane; it was killed unless the header says otherwise."""
    process = control(**{"state": 1, "end_ticks": 0, "beats": 1, "beat1_ticks": T + 500,
                         "beat1_ns": START_NS + 500, **header})
    process.block(1, *records, spans=spans)
    return process


STACK = [open_span(T + 10, name=2, depth=0, nest=0),
         open_span(T + 20, name=1, flags=TRAIN, depth=1,
                                                             nest=0x41),
         open_span(T + 30, name=77, flags=0x8000 | EVAL, depth=2, nest=0xC3)]


@run
def open_spans_of_a_killed_process():
    return dying(STACK, [thread_begin(T, 31), spans(T + 40, 2)])


@run
def open_spans_by_the_other_beat():
    return dying(STACK, beats=2, beat0_ticks=T + 400, beat0_ns=START_NS + 400)


@run
def open_spans_without_beats():
    return dying(STACK, [spans(T + 40, 2)], beats=0)


@run
def open_spans_without_beats_and_records():
    return dying(STACK, beats=0)


@run
def open_spans_of_a_stopped_process():
    return dying(STACK, state=2, end_ticks=T + 100)


@run
def open_spans_of_an_exited_process():
    return dying(STACK, state=3, end_ticks=T + 600)


@run
def open_spans_of_an_end_before_everything():
    return dying(STACK, state=3, end_ticks=0)


@run
def open_spans_of_a_state_that_is_not_known():
    return {"a.ssp": dying(STACK, state=0, end_ticks=T + 77),
            "b.ssp": dying(STACK, state=9, end_ticks=T + 77),
            "c.ssp": dying(STACK, state=2**32 - 1, end_ticks=T + 77)}


@run
def open_spans_and_a_later_record():
    return dying(STACK, [spans(T + 900, 2)])


@run
def open_spans_that_start_after_death():
    return dying(STACK + [open_span(T + 700, depth=3), open_span(T + 800, depth=4),
                          open_span(T + 750, depth=5)], [spans(T + 40, 2)])


@run
def open_spans_that_start_very_late():
    return dying([open_span(2**64 - 1), open_span(2**63, depth=1)])


@run
def open_spans_that_do_not_count():
    return dying([open_span(T - 1), open_span(T), open_span(T + 1, kind=0),
                  open_span(T + 2, kind=2),
                  open_span(0), open_span(T + 3, kind=255), open_span(T + 4, depth=6)],
                 [spans(T + 40, 2)])


@run
def open_span_just_being_closed():
    return dying(STACK, [spans(T + 21, 1), span(T + 30, T + 60, 9, name=5, depth=2)])


@run
def open_span_just_being_closed_before_other_records():
    return dying(STACK, [span(T + 30, T + 60, 9, depth=2), step(T + 61),
                         frame(1, 1, b"f", b"g")])


@run
def open_span_like_an_older_span():
    return dying(STACK, [span(T + 30, T + 60, 9, depth=2), span(T + 31, T + 61, depth=2)])


@run
def open_span_of_another_depth():
    return dying(STACK, [span(T + 30, T + 60, 9, depth=3)])


@run
def open_span_of_another_start():
    return dying(STACK, [span(T + 29, T + 60, 9, depth=2)])


@run
def open_span_further_out_being_closed():
    return dying(STACK, [span(T + 20, T + 60, 9, depth=1)])


@run
def open_span_being_closed_below_one_that_does_not_count():
    return dying(STACK[:2] + [open_span(T + 30, kind=3, depth=2)],
                 [span(T + 20, T + 60, 9, depth=1)])


@run
def open_spans_63_deep():
    return dying([open_span(T + i, depth=i) for i in range(63)], [spans(T + 100, 1)])


@run
def open_spans_in_every_lane():
    process = dying(STACK)
    for lane in range(2, 7):
        process.block(lane, thread_begin(T, lane), spans=[open_span(T + lane)] * 2)
    process.records(3, 1, spans(T + 100, 3))
    return process


@run
def open_spans_after_a_bad_record():
    return dying(STACK, [spans(T + 40, 1), record(1, bytes(24), units=0)])


@run
def open_spans_on_a_clock_of_ticks():
    return dying(STACK, [spans(T + 40, 2)], clock=1)

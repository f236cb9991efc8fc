"""Runs without damage: every kind, word and layout, and times of every sort."""

from builder import (
    APPENDED, EVAL, FAILED, LOST, PERTURBED, START, START_NS, TRAIN, ProcessFile, at,
    calibration, control, counter, frame, hook, info, mark, name, open_span, plan,
    record, run, sample, span, spans, step, system, thread_begin, thread_end)

FILE = "p-100-77-00000000000000aa.ssp"
OTHER_FILE = "p-101-78-00000000000000bb.ssp"
T = START


# Records, words and texts


@run
def every_kind():
    process = control(info(b"host", b"box"), calibration(T + 50, START_NS + 50, 123, 7))
    process.block(
        1, thread_begin(T + 1, 4242, b"main"), plan(T + 2, 100, 2, 50, 32),
        at(3, T + 3, name=2),
        at(5, T + 4, 3, form="Q"), step(T + 5, 32, depth=1, nest=0x40),
        span(T + 6, T + 9, -5, name=1, flags=TRAIN, depth=2, nest=0xC9),
        counter(T + 10, 0.1, name=2), mark(T + 11, b"hello", name=1),
        frame(7, 120, b"train", b"train.py", traits=3, body=40),
        sample(T + 12, 4243, [7, 8, 0xFFFFFFFF]),
        hook(T + 13, b"torch.nn", b"absent", flags=FAILED),
        span(T + 1, T + 14, 2, PERTURBED),
        system(T + 15, 99.5, 3, name=2, flags=1), span(T + 14, T + 16, 17, LOST),
        at(6, T + 17), at(4, T + 18, flags=FAILED),
        at(21, T + 18, 1 << 40, 7, form="QQ"), at(22, T + 18, 5, form="Q", name=1),
        thread_end(T + 19))
    return process


@run
def every_word_and_flag():
    process = ProcessFile()
    process.block(0, *(name(number + 1, b"n%d" % number, b"o" * (number % 2),
                            stage=number,
                            role=number, scope=number) for number in range(20)),
                  name(300, b"far", stage=255, role=255, scope=255))
    process.block(1, *(span(T + i, T + i + 1, name=i + 1, flags=1 << (i % 16), depth=i,
                            nest=255 - i)
                       for i in range(20)),
                  span(T + 50, T + 50, 1, name=300, flags=0xFFFF, depth=255, nest=255),
                  span(T + 51, T + 52, -2**63, name=65535),
                  span(T + 52, T + 53, 2**63 - 1))
    return process


@run
def heads_of_every_kind_with_flags():
    process = control()
    head = {"name": 1, "flags": EVAL | APPENDED, "depth": 3, "nest": 0x41}
    process.block(2, *(at(kind, T + kind, **head) for kind in (2, 3, 4, 5, 6, 7, 15, 19)),
                  mark(T + 30, b"", **head), plan(T + 31, **head),
                  sample(T + 32, 1, [], **head),
                  hook(T + 33, b"", **head), thread_begin(T + 34, 9, **head),
                  info(b"", b"", **head),
                  frame(0, 0, b"", b"", **head), calibration(T + 35, 0, **head))
    return process


@run
def unknown_kinds_are_skipped():
    process = control()
    process.block(1, record(121, b"\xff" * 24), spans(T, 2), record(200, b"\xff" * 88),
                  record(255, bytes(24)), spans(T + 50, 2), record(99, b"\xff" * 3000))
    process.records(1, 1, record(77, b"\xff" * 8152), spans(T + 100, 3))
    return process


@run
def records_may_be_longer():
    process = control(calibration(T + 5, START_NS + 5, units=3) + b"\xff" * 32)
    process.block(1, span(T, T + 1, units=3) + b"\xff" * 64,
                  plan(T + 2, 1, units=4) + b"\xff" * 64,
                  step(T + 3, 1, units=2) + b"\xff" * 32,
                  mark(T + 4, b"ab", units=2) + b"\xff" * 32, spans(T + 10, 1))
    return process


@run
def texts():
    process = ProcessFile()
    odd = [b"", b"\0", b"\x01\x1f\x7f\"\\/\b\f\n\r\t", "grüße \u2028 😀".encode(),
           b"\xff\xfe", b"\xc3",
           b"a\xe2\x82", b"\xf0\x9f\x98", b"\xf0\x9f\x98z", b"\xc0\x80", b"\xed\xa0\x80",
           b"\xf4\x90\x80\x80", b"\xe0\x80\x80", b"\xf8\x88\x80\x80\x80", b"\x80\x80x",
           b"\xe1\x80\xe2\xf0\x91\x92\xf1\xbfA", b"\xef\xbb\xbfbom", b"\xef\xbf\xbf"]
    process.block(0, *(name(i + 1, text, text[::-1]) for i, text in enumerate(odd)),
                  *(info(text, b"v" + text) for text in odd))
    process.block(1, *(span(T + i, T + i, name=i + 1) for i in range(len(odd))),
                  *(mark(T + 20 + i, text) for i, text in enumerate(odd)))
    process.block(2, mark(T, b"8 bytes!"), mark(T, b"9 bytes!!"), mark(T, b"long" * 200),
                  hook(T, b"target" * 20, b"reason" * 30),
                  frame(1, 2, b"f" * 100, b"g" * 101),
                  thread_begin(T, 1, "längst".encode() * 10))
    process.records(2, 1, mark(T + 1, b"x" * (255 * 32 - 24)), mark(T + 1, b"y" * 0))
    return process


@run
def numbers():
    process = control()
    values = [0.0, -0.0, 1.0, 0.1, -1 / 3, 5e-324, 2.2250738585072014e-308,
              1.7976931348623157e308,
              1e21, 1e22, 123456789012345680.0, 2**53 + 2.0, 1e-7, float("nan"),
              float("inf"),
              float("-inf")]
    process.block(1, *(counter(T + i, value, name=2) for i, value in enumerate(values)),
                  *(system(T + 30 + i, value, 2**64 - 1, name=1, flags=i % 5)
                    for i, value in enumerate(values)),
                  system(T + 60, 1.0, 0, flags=0x8000),
                  system(T + 60, 1.0, 0, flags=0x0101),
                  step(T + 61, 2**64 - 1), plan(T + 62, 2**64 - 1, 2**63, 1, 2**64 - 1),
                  at(5, T + 63, 2**64 - 1, form="Q"), span(T, T + 64, -2**63, PERTURBED),
                  span(T, T + 65, -1, LOST), sample(T + 66, 2**32 - 1, [2**32 - 1] * 30))
    return process


@run
def names_missing_and_repeated():
    process = ProcessFile()
    process.block(0, name(5, b"first", b"A", stage=1), name(5, b"second", b"B", stage=2),
                  name(0, b"zero", b"Z", stage=3), info(b"k", b"1"), info(b"k", b"2"))
    process.block(1, *(span(T + i, T + i, name=i) for i in range(7)),
                  span(T + 9, T + 9, name=65535),
                  counter(T + 10, 1.0, name=9), mark(T + 11, b"m", name=9),
                  system(T + 12, 1.0, name=9), at(3, T + 13, name=9))
    process.records(0, 1, name(6, b"late", stage=4))
    return process


@run
def names_in_other_lanes():
    process = control()
    process.block(1, name(8, b"elsewhere", b"X", stage=5), spans(T, 1, name=8),
                  info(b"a", b"b"))
    return process


# Lanes and segments


@run
def several_lanes():
    process = control()
    for lane in range(1, 7):
        process.block(lane, thread_begin(T + lane, 50 + lane),
                      spans(T + 10 - lane, 30, name=1))
    process.directory(14)
    process.directory(7)
    process.block(7, spans(T, 3))
    process.block(13, spans(T, 3))
    process.block(14, thread_begin(T, 60), spans(T, 3))
    process.block(20, spans(T, 3))
    process.records(13, 1, spans(T + 100, 3))
    return process


@run
def the_last_directory_there_can_be():
    process = control()
    process.directory(7 * 65535)
    process.block(7 * 65535 + 6, spans(T, 3))
    process.records(7 * 65535 + 6, 1, spans(T + 50, 3))
    process.records(7 * 65536 - 2, 2**32 - 1, spans(T + 50, 3))
    return process


@run
def several_segments():
    process = control()
    process.block(3, spans(T, 192))
    process.records(3, 2, spans(T + 30000, 20))
    process.records(3, 3, spans(T + 40000, 20))
    process.records(3, 1, spans(T + 2000, 2046))
    process.records(0, 1, name(9, b"more"))
    return process


@run
def a_full_block_and_a_long_record():
    process = control()
    process.block(1, spans(T, 191), span(T + 5000, T + 5001))
    process.records(1, 1, spans(T + 6000, 2036), mark(T + 50000, b"z" * 280))
    process.records(1, 2, spans(T + 60000, 2045))
    return process


@run
def gaps_in_seq():
    process = control()
    process.block(1, spans(T, 2))
    for seq in (2, 3, 7, 0x80000000, 0xFFFFFFFF):
        process.records(1, seq, spans(T + min(seq, 99) * 100, 2))
    return process


@run
def the_same_place_twice():
    process = control()
    process.block(1, spans(T, 2))
    for lease, argument in ((5, 50), (9, 90), (7, 70)):
        process.records(1, 1, span(T + 100, T + 101, argument), lease=lease)
    for lease, argument in ((2**64 - 1, 1), (3, 2), (2**64 - 1, 3)):
        process.records(1, 2, span(T + 200, T + 201, argument), lease=lease)
    return process


@run
def a_lane_without_a_block():
    process = control()
    process.records(5, 1, thread_begin(T, 9), spans(T, 3))
    process.records(3000, 4, spans(T, 3))
    return process


@run
def control_lane_without_a_block():
    process = ProcessFile(clock=1)
    process.records(0, 1, name(1, b"late"), calibration(T + 1000, START_NS + 500))
    process.block(1, spans(T, 5, name=1))
    return process


@run
def segments_that_are_not_in_use():
    process = control()
    process.data += bytes(65536)
    process.segment(0, 3, 3, 3, spans(T, 2))
    process.segment(2, 1, 1, 0, spans(T, 2))
    offset = process.segment(0, 0, 0, 0, spans(T, 2))
    process.data[offset:offset + 64] = bytes(64)
    process.records(1, 2, spans(T, 2))
    return process


@run
def segments_with_broken_headers():
    process = control()
    process.segment(2, 1, 1, 1, spans(T, 2), magic=0x47455354)
    process.segment(2, 1, 1, 1, spans(T, 2), magic=0)
    process.segment(3, 1, 1, 1, spans(T, 2))
    process.segment(0xFFFFFFFF, 1, 1, 1, spans(T, 2))
    process.segment(2, 7 * 65536, 1, 1, spans(T, 2))
    process.segment(2, 0xFFFFFFFF, 1, 1, spans(T, 2))
    process.segment(2, 1, 0, 1, spans(T, 2))
    offset = process.segment(0, 0, 0, 0, spans(T, 2), magic=0)
    process.data[offset:offset + 64] = bytes(63) + b"\1"
    process.records(1, 5, spans(T, 2))
    return process


@run
def directories_out_of_place():
    process = control()
    for first in (0, 7, 7, 8, 7 * 65536, 0xFFFFFFFF, 14):
        process.directory(first)
        offset = process.directories[first] + 8192
        process.poke(offset, "II", 0x4E4C5353, first)
        body = span(T, T + first % 1000 + len(process.data) // 65536)
        process.data[offset + 2048:offset + 2080] = body
    process.poke(process.directories[14] + 16, "Q", 0)
    return process


@run
def blocks_with_broken_headers():
    process = control()
    process.block(1, spans(T, 2), number=2)
    process.block(2, spans(T, 2), magic=0x4E4C5354)
    process.block(3, spans(T, 2), magic=0, spans=[open_span(T)])
    process.block(4, spans(T, 2), number=11)
    process.block(5, spans(T, 2), depth=64, spans=[open_span(T)])
    process.block(6, spans(T, 2), depth=0xFFFFFFFF, spans=[open_span(T)])
    process.records(1, 1, spans(T + 100, 2))
    return process


# Order


@run
def appended_spans():
    process = control()
    process.block(1, spans(T + 100, 3), span(T + 20, T + 30, 1, flags=APPENDED),
                  span(T + 5, T + 110, 2, flags=APPENDED), frame(1, 1, b"f", b"g"),
                  spans(T + 130, 2),
                  step(T + 6), info(b"k", b"v"), spans(T + 160, 1))
    process.block(2, spans(T + 101, 9))
    process.records(1, 1, span(T, T + 1, 3, flags=APPENDED), spans(T + 170, 2))
    return process


@run
def records_without_ticks_come_first():
    process = control()
    process.block(2, frame(1, 1, b"f", b"g"), info(b"k", b"v"), spans(T + 10, 2),
                  name(7, b"n"))
    process.block(1, spans(T, 2, length=0))
    return process


@run
def the_same_time_everywhere():
    files = {}
    for file in (OTHER_FILE, FILE):
        process = control()
        for lane in (4, 1, 3):
            process.block(lane, *(span(T + 7, T + 9, i) for i in range(4)))
        process.records(3, 1, span(T + 1, T + 9, 10))
        files[file] = process
    return files


@run
def the_same_nanosecond_in_other_ticks():
    process = control(clock=1, ticks_per_s=10**12)
    process.block(1, *(span(T, T + 1000 * i + 900) for i in range(9)))
    process.block(2, *(span(T, T + 1000 * i + 100) for i in range(9)))
    process.block(3, *(span(T, T + 1000 * i + 1000) for i in range(9)))
    return process


@run
def threads_that_share_a_lane():
    process = control()
    process.block(1, spans(T, 1), thread_begin(T + 20, 71, b"one"), spans(T + 30, 1),
                  thread_end(T + 40), spans(T + 50, 1), thread_begin(T + 60, 72, b"two"),
                  spans(T + 70, 1), thread_end(T + 80), frame(1, 1, b"f", b"g"),
                  sample(T + 90, 5, [1]), spans=[open_span(T + 95)])
    return process


# Time


def clocked(*calibrations, clock=1, lanes=(), **header):
    process = control(*calibrations, clock=clock, **header)
    ticks = [T + step for step in (0, 1, 2, 3, 10, 99, 100, 101, 150, 199, 200, 201, 299,
                                   300, 301,
                                   399, 400, 401, 1000, 12345, 10**6, 10**9, 10**11)]
    process.block(1, *(span(T, t, i) for i, t in enumerate(ticks)))
    for lane, records in enumerate(lanes, start=2):
        process.block(lane, *records)
    return process


def rising(*points):
    return [calibration(T + ticks, START_NS + raw) for ticks, raw in points]


@run
def clock_of_nanoseconds():
    return clocked(*rising((100, 7), (200, 9)), clock=0, beats=1, beat1_ticks=T + 300,
                   beat1_ns=1)


@run
def clock_with_one_point():
    return clocked()


@run
def clock_without_a_rate():
    return clocked(ticks_per_s=0)


@run
def clock_of_arm():
    return clocked(clock=2, ticks_per_s=24_000_000)


@run
def clock_that_is_not_known():
    return clocked(*rising((100, 50)), clock=9)


@run
def clock_with_calibrations():
    return clocked(*rising((100, 33), (200, 67), (300, 111), (400, 112)))


@run
def clock_with_calibrations_that_go_back():
    return clocked(*rising((100, 33), (90, 40), (110, 20), (100, 50), (120, 33),
                           (200, 67), (150, 60),
                           (300, 5), (299, 68), (400, 90)))


@run
def clock_with_a_calibration_at_the_start():
    return clocked(*rising((0, 5), (0, 0), (300, 100)))


@run
def clock_with_a_slow_line():
    return clocked(*rising((100, 33), (2**60, 34)))


@run
def clock_with_calibrations_in_another_lane():
    return clocked(*rising((200, 67)), lanes=[rising((100, 90), (300, 300))])


@run
def clock_with_an_odd_beat():
    return clocked(*rising((100, 33)), beats=3, beat1_ticks=T + 250,
                   beat1_ns=START_NS + 90,
                   beat0_ticks=T + 10**12, beat0_ns=START_NS + 10**10)


@run
def clock_with_an_even_beat():
    return clocked(*rising((100, 33)), beats=4, beat0_ticks=T + 250,
                   beat0_ns=START_NS + 90,
                   beat1_ticks=T + 10**12, beat1_ns=START_NS + 10**10)


@run
def clock_with_a_beat_before_the_last_calibration():
    return clocked(*rising((100, 33), (300, 99)), beats=1, beat1_ticks=T + 250,
                   beat1_ns=START_NS + 190)


@run
def clock_with_no_beat_but_its_bytes():
    return clocked(*rising((100, 33)), beat0_ticks=T + 250, beat0_ns=START_NS + 190,
                   beat1_ticks=T + 260, beat1_ns=START_NS + 290)


@run
def clock_with_calibrations_in_segments():
    process = clocked(*rising((100, 33)))
    process.records(0, 2, *rising((300, 120)))
    process.records(0, 1, *rising((200, 67)))
    return process


@run
def clock_from_ticks_0():
    process = control(clock=1, start_ticks=0, start_raw_ns=-(2**40))
    process.block(1, *(span(0, ticks) for ticks in (0, 1, 2, 3, 10**9, 10**12)))
    return process


def extreme(*calibrations, **header):
    """A process with times as far away as the fields allow."""
    process = ProcessFile(**header)
    process.block(0, *calibrations)
    process.block(1, *(span(header.get("start_ticks", T), ticks) for ticks in
                       (T, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2,
                        2**64 - 1)))
    return process


@run
def extreme_ticks_of_nanoseconds():
    return extreme(clock=0)


@run
def extreme_ticks_of_one_point():
    return extreme(clock=1)


@run
def extreme_ticks_of_a_slow_clock():
    return extreme(clock=1, ticks_per_s=1)


@run
def extreme_ticks_of_a_fast_clock():
    return extreme(clock=1, ticks_per_s=2**64 - 1)


@run
def extreme_start_late():
    return extreme(clock=1, start_raw_ns=2**63 - 1)


@run
def extreme_start_early():
    return extreme(clock=1, start_raw_ns=-2**63)


@run
def extreme_line():
    return extreme(calibration(T + 1, 2**63 - 1), clock=1, start_raw_ns=-2**63)


@run
def extreme_flat_line():
    return extreme(calibration(2**64 - 1, 1), clock=1, start_raw_ns=0)


# Several processes


@run
def two_processes():
    one = control(calibration(T + 3000, START_NS + 1000), clock=1)
    one.block(1, thread_begin(T, 5), spans(T, 30, pitch=100, name=1))
    two = control(start_ticks=START_NS - 100, start_raw_ns=0, end_ticks=START_NS + 2000)
    two.block(1, thread_begin(START_NS, 6), spans(START_NS + 3, 30, pitch=33, name=2),
              spans=[open_span(START_NS + 1)])
    return {FILE: one, OTHER_FILE: two}


@run
def five_processes_and_a_broken_one():
    files = {}
    for number in range(5):
        process = control(start_ticks=number, end_ticks=5000)
        process.block(1, spans(number, 10, pitch=7), spans=[open_span(number)])
        files[f"p-{number}.ssp"] = process
    files["p-10.ssp"] = b"broken"
    return files

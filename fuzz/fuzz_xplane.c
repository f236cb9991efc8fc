/* Fuzzes the reader of XPlane traces with events that are put together, and with their bytes.
 *
 * The first byte is even: the rest is a file as it is. It is odd: each 8 bytes more are an event:
 *   0  plane                          4  when it began, as a power of two
 *   1  line                           5  how long it took, the same
 *   2  name                           6  which values it has
 *   3  text of its values             7  their numbers */
#include <stdlib.h>
#include <string.h>

#include "import/xplane.h"
#include "support/fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROW_BYTES = 8, ROWS_MOST = 512 };

#define COUNT(list) (sizeof list / sizeof *list)

static const char *const planes[] = {"/host:CPU", "/device:GPU:0", "/device:GPU:1",
                                     "/host:metadata", "Task Environment"};
static const char *const lines[] = {
    "python", "tf_Compute/1", "tf_data_iterator/2", "Stream #1(Compute)", "Stream #2(MemcpyH2D)",
    "Steps"};
static const char *const names[] = {"net/dense/MatMul:MatMul",
                                    "ExecutorState::Process",
                                    "ThunkExecutor::Execute",
                                    "IteratorGetNextOp::DoCompute",
                                    "PjitFunction(step)",
                                    "FunctionRun",
                                    "jit_step(3)",
                                    "MemcpyD2H",
                                    "Memset",
                                    "ncclKernel",
                                    "kernel<float>",
                                    "7",
                                    "\x1b\xff",
                                    ""};
static const char *const stats[] = {"correlation_id",   "annotation", "memcpy_details",
                                    "step_num",         "hlo_op",     "program_id",
                                    "tf_function_call", "process_id", "profile_start_time"};
static const char *const texts[] = {"replica_0/net/dense/MatMul:MatMul#x",
                                    "jit(step)/transpose(jvp(Net))/dense/dot",
                                    "size:99999999999 dest:0",
                                    "fusion.1",
                                    "/:/",
                                    ""};

static void put_varint(struct buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_add(out, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
    buf_add(out, &(uint8_t){(uint8_t)value}, 1);
}

static void put_number(struct buf *out, unsigned field, uint64_t value)
{
    put_varint(out, field << 3);
    put_varint(out, value);
}

static void put_text(struct buf *out, unsigned field, const char *text, size_t size)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, size);
    buf_add(out, text, size);
}

/* A message inside another, which it releases. */
static void put_message(struct buf *out, unsigned field, struct buf *inner)
{
    put_text(out, field, inner->size > 0 ? inner->data : "", inner->size);
    buf_release(inner);
}

static void put_stat(struct buf *event, size_t stat, const uint8_t *row)
{
    const char *text = texts[row[3] % COUNT(texts)];
    struct buf out = {0};

    put_number(&out, 1, stat + 1);
    if (stat == 1 || stat == 2 || stat == 4)
        if (row[3] & 0x80)
            put_number(&out, 7, COUNT(stats) + 1 + row[3] % COUNT(texts));
        else
            put_text(&out, 5, text, strlen(text));
    else
        put_number(&out, 4, row[7]);
    put_message(event, 4, &out);
}

static void put_event(struct buf *line, const uint8_t *row)
{
    struct buf out = {0};

    put_number(&out, 1, row[2] % COUNT(names) + 1);
    put_number(&out, 2, UINT64_C(1) << row[4] % 64);
    put_number(&out, 3, UINT64_C(1) << row[5] % 64);
    for (size_t i = 0; i < COUNT(stats); i++)
        if (row[6] >> i % 8 & 1)
            put_stat(&out, i, row);
    put_message(line, 4, &out);
}

static void put_name(struct buf *plane, unsigned field, uint64_t id, const char *text)
{
    struct buf entry = {0}, name = {0};

    put_number(&name, 1, id);
    put_text(&name, 2, text, strlen(text));
    put_number(&entry, 1, id);
    put_message(&entry, 2, &name);
    put_message(plane, field, &entry);
}

/* The events of one line of a plane: their rows say so. */
static void put_line(struct buf *plane, const uint8_t *rows, size_t count, size_t at, size_t line)
{
    struct buf out = {0};

    put_number(&out, 1, line);
    put_text(&out, 2, lines[line], strlen(lines[line]));
    put_number(&out, 3, 5000);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *row = rows + i * ROW_BYTES;
        if (row[0] % COUNT(planes) == at && row[1] % COUNT(lines) == line)
            put_event(&out, row);
    }
    put_message(plane, 3, &out);
}

static void make_trace(struct buf *out, const uint8_t *rows, size_t size)
{
    const size_t all = size / ROW_BYTES, count = all < ROWS_MOST ? all : ROWS_MOST;

    for (size_t p = 0; p < COUNT(planes); p++) {
        struct buf plane = {0};
        put_text(&plane, 2, planes[p], strlen(planes[p]));
        for (size_t i = 0; i < COUNT(lines); i++)
            put_line(&plane, rows, count, p, i);
        for (size_t i = 0; i < COUNT(names); i++)
            put_name(&plane, 4, i + 1, names[i]);
        for (size_t i = 0; i < COUNT(stats); i++)
            put_name(&plane, 5, i + 1, stats[i]);
        for (size_t i = 0; i < COUNT(texts); i++)
            put_name(&plane, 5, COUNT(stats) + 1 + i, texts[i]);
        put_message(out, 1, &plane);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct fuzz_trace how = {TRACE_XPLANE, "trace.pb", xplane_read, make_trace};

    return fuzz_trace(&how, data, size);
}

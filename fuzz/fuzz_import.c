/* Fuzzes the reader of traces with events that are put together, and with their bytes.
 *
 * The first byte is even: the rest is a trace as it is. It is odd: each 8 bytes more are an event:
 *   0  phase                         4  thread, or device
 *   1  category                      5  when it began, as a power of two
 *   2  name                          6  how long it took, the same
 *   3  which arguments it has        7  their values */
#include <stdlib.h>
#include <string.h>

#include "import/kineto.h"
#include "import/operations.h"
#include "support/fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROW_BYTES = 8, ROWS_MOST = 512 };

#define COUNT(list) (sizeof list / sizeof *list)

static void add_event(struct buf *out, const uint8_t *row)
{
    static const char *const phases[] = {"X", "X", "X", "i", "s", "f", "M", "C", "B", "E", "?"};
    static const char *const categories[] = {
        "cpu_op",       "user_annotation",     "kernel",   "gpu_memcpy", "gpu_memset",
        "cuda_runtime", "gpu_user_annotation", "ac2g",     "fwdbwd",     "python_function",
        "cuda_driver",  "cuda_sync",           "Operator", "Kernel",     "overhead"};
    static const char *const names[] = {"ProfilerStep#1",
                                        "ProfilerStep#2",
                                        "aten::linear",
                                        "cudaLaunchKernel",
                                        "ncclKernel_AllReduce_RING",
                                        "nccl:all_reduce",
                                        "Memcpy HtoD (Pinned -> Device)",
                                        "Optimizer.step#SGD.step",
                                        "enumerate(DataLoader)#x.__next__",
                                        "autograd::engine::evaluate_function: X",
                                        "cudaStreamSynchronize",
                                        "nn.Module: Linear_0",
                                        "thread_name",
                                        "\\u0000\\ud800",
                                        ""};

    buf_printf(out, "{\"ph\":\"%s\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u",
               phases[row[0] % COUNT(phases)], categories[row[1] % COUNT(categories)],
               names[row[2] % COUNT(names)], row[4] / 16u, row[4] % 16u);
    buf_printf(out, ",\"ts\":%s%llu.%03u,\"dur\":%llu", row[5] >= 250 ? "-" : "",
               1ull << row[5] % 64, row[7] * 3u, 1ull << row[6] % 64);
    buf_printf(out, ",\"id\":%u,\"args\":{\"External id\":%u", row[7], row[7]);
    if (row[3] & 1)
        buf_printf(out, ",\"correlation\":%u,\"device\":%u,\"stream\":%u", row[7], row[4] % 4,
                   row[4] / 4);
    if (row[3] & 2)
        buf_printf(out, ",\"bytes\":%llu", 1ull << row[7] % 64);
    if (row[3] & 4)
        buf_printf(out,
                   ",\"Collective name\":\"allreduce\",\"In msg nelems\":%llu,\"Group size\":%u,"
                   "\"dtype\":\"Float\"",
                   1ull << row[7] % 64, row[4]);
    if (row[3] & 8)
        buf_printf(out, ",\"Python id\":%u,\"Python parent id\":%u", row[7], row[4]);
    if (row[3] & 16)
        buf_printf(out, ",\"name\":[{\"deep\":[1,null,\"x\"]}]");
    buf_printf(out, "}}");
}

static void make_trace(struct buf *out, const uint8_t *data, size_t size)
{
    buf_add_text(out, "{\"schemaVersion\":1,\"baseTimeNanoseconds\":1700000000000000000,"
                      "\"distributedInfo\":{\"rank\":1,\"world_size\":2},\"traceEvents\":[");
    for (size_t i = 0; i < ROWS_MOST && size >= ROW_BYTES; i++) {
        buf_add_text(out, i > 0 ? "," : "");
        add_event(out, data);
        data += ROW_BYTES;
        size -= ROW_BYTES;
    }
    buf_add_text(out, "]}");
}

/* The same as a window of operations: what each took itself is no more than all. */
static void read_window(const uint8_t *data, size_t size)
{
    struct operations operations = {0};
    struct device_table table = {0};
    struct trace_input input;
    struct trace trace;
    struct ss_error error = {0};
    struct buf made = {0}, out = {0};

    if (data[0] % 2 != 0)
        make_trace(&made, data + 1, size - 1);
    trace_input_memory(&input, data[0] % 2 ? (const void *)made.data : data + 1,
                       data[0] % 2 ? made.size : size - 1);
    trace_init(&trace, TRACE_KINETO);
    trace.watch = operations_watch_kineto;
    trace.watch_context = &operations;
    if (kineto_read(&trace, &input, "trace.json", &error) == 0) {
        operations_settle(&operations);
        for (size_t i = 0; i < operations.count; i++)
            if (operations.items[i].pass >= PASS_COUNT)
                abort();
        if (operations_tell(&operations, &trace.names, 0, &table))
            device_table_write(&out, &table);
    }
    buf_release(&out);
    buf_release(&made);
    device_table_release(&table);
    operations_release(&operations);
    trace_release(&trace);
    trace_input_release(&input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0)
        read_window(data, size);
    static const struct fuzz_trace how = {TRACE_KINETO, "trace.json", kineto_read, make_trace};

    return fuzz_trace(&how, data, size);
}

#include "support/fuzz_trace.h"

#include <stdbool.h>
#include <stdlib.h>

#include "import/device_books.h"
#include "import/trace_layers.h"
#include "import/trace_tables.h"

static void read_trace(const struct fuzz_trace *how, const void *bytes, size_t size, bool is_whole)
{
    struct trace_input input;
    struct trace trace;
    struct device_table table = {0};
    struct ss_error error = {0};
    struct buf out = {0};

    trace_input_memory(&input, bytes, size);
    trace_init(&trace, how->form);
    const int failed = how->read(&trace, &input, how->path, &error);
    if (failed && (is_whole || !error.message[0]))
        abort();
    if (!failed && trace_settle(&trace)) {
        trace_layers_find(&trace);
        if (!trace.failed && device_books_add(&table, &trace)) {
            trace_tables_finish(&table);
            device_table_write(&out, &table);
        }
    }
    buf_release(&out);
    device_table_release(&table);
    trace_release(&trace);
    trace_input_release(&input);
}

int fuzz_trace(const struct fuzz_trace *how, const uint8_t *data, size_t size)
{
    struct buf made = {0};

    if (size == 0)
        return 0;
    if (data[0] % 2 == 0) {
        read_trace(how, data + 1, size - 1, false);
        return 0;
    }
    how->make(&made, data + 1, size - 1);
    read_trace(how, made.data, made.size, true);
    buf_release(&made);
    return 0;
}

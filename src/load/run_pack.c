#include "load/run_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "pack/packed_file.h"
#include "read/run.h"

struct worker {
    struct run_pack *pack;
    struct block_packer *packer;
    struct block_unpacker *unpacker;
    int dir;
};

bool run_pack_is_possible(void)
{
    return block_is_possible();
}

static int change_file(const struct worker *worker, const char *name)
{
    struct run_pack *const pack = worker->pack;
    enum packed_file_result result = PACKED_FILE_WAS;
    struct packed_file_sizes sizes;
    const int failed =
        pack->undo ? packed_file_unpack(worker->unpacker, worker->dir, name, &result, &sizes)
                   : packed_file_pack(worker->packer, worker->dir, name, pack->may_go_on,
                                      pack->context, &result, &sizes);

    if (failed)
        return failed;
    pack->changed += result == PACKED_FILE_DONE;
    pack->was_so += result == PACKED_FILE_WAS;
    pack->written += result == PACKED_FILE_WRITTEN || result == PACKED_FILE_BUSY;
    pack->before += sizes.before;
    pack->after += sizes.after;
    return 0;
}

static int explain(const struct run_pack *pack, const char *name, int failed,
                   struct ss_error *error)
{
    const char *const verb = pack->undo ? "unpacked" : "packed";

    if (failed == EBADMSG)
        return error_set(error, SS_E_DAMAGED, "%s/%s cannot be %s: %s", pack->path, name, verb,
                         pack->undo ? "a block of it is damaged"
                                    : "it is of another version, or too large");
    return error_set(error, error_code_of_errno(failed), "%s/%s is not %s: %s", pack->path, name,
                     verb, strerror(failed));
}

static int change_files(const struct worker *worker, struct ss_run *run, struct ss_error *error)
{
    int code = 0;

    for (size_t i = 0; i < ss_run_processes(run) && code == 0; i++) {
        const struct ss_process *const process = ss_run_process(run, i);
        if (process->end == SS_END_LIVE) {
            worker->pack->written++;
            continue;
        }
        const int failed = change_file(worker, process->file);
        if (failed)
            code = explain(worker->pack, process->file, failed, error);
    }
    return code;
}

int run_pack(struct run_pack *pack, struct ss_error *error)
{
    if (!block_is_possible())
        return error_set(error, SS_E_PACKED,
                         "%s stays as it is: this stepscope was built without zstd", pack->path);
    struct ss_run *const run = run_open_empty(pack->path, error);
    if (!run)
        return error->code;
    struct worker worker = {.pack = pack,
                            .packer = block_packer_new(),
                            .unpacker = block_unpacker_new(),
                            .dir = open(pack->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    int code;
    if (worker.dir < 0)
        code = error_set(error, error_code_of_errno(errno), "%s: %s", pack->path, strerror(errno));
    else if (!worker.packer || !worker.unpacker)
        code = error_set(error, SS_E_NOMEM, "%s", ss_error_text(SS_E_NOMEM));
    else
        code = change_files(&worker, run, error);
    if (worker.dir >= 0)
        close(worker.dir);
    block_packer_free(worker.packer);
    block_unpacker_free(worker.unpacker);
    ss_run_close(run);
    return code;
}

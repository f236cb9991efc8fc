/* One process of a run: its file, where in it the records of each lane are, its names and
 * clock.
 *
 * process_file_refresh() brings all of that up to date with a file that is still
 * written; what is here then describes the file at that moment. Everything comes from
 * bytes that anyone may have written, hence every number is checked before it is used. */
#ifndef READ_PROCESS_FILE_H
#define READ_PROCESS_FILE_H

#include "read/array.h"
#include "read/lane_walk.h"
#include "read/liveness.h"
#include "read/manifest.h"
#include "read/record_decode.h"
#include "read/source.h"
#include "read/timeline.h"
#include "stepscope/reader.h"

/* What the control lane of a process says: names, infos, calibrations of the clock. */

struct process_file;

struct catalog {
    struct lane_walk walk;      /* over the control lane; goes on at each refresh */
    struct ss_name_info *names; /* by id; text.data is NULL if the record is missing */
    uint8_t *stages;            /* of the names, for those who need no more */
    size_t name_capacity, stage_capacity;
    uint32_t name_count; /* largest id and 1; at least 1 */
    uint32_t calibrations;
    struct manifest infos;
    struct text_store texts;
};

/* Reads what is new; calibrations go to the timeline of the file. 0 or SS_E_NOMEM. */
int catalog_refresh(struct process_file *file);
void catalog_release(struct catalog *catalog);

static inline uint8_t catalog_stage(const struct catalog *catalog, uint16_t name)
{
    return name < catalog->name_count ? catalog->stages[name] : (uint8_t)SS_STAGE_OTHER;
}

/* Lane numbers end here: directory segments have numbers below 65536. */
enum { LANE_LIMIT = SS_BLOCKS_PER_SEGMENT * 65536 };

enum segment_use {
    SEGMENT_IDLE, /* not in use, or not looked at */
    SEGMENT_HAS_RECORDS,
    SEGMENT_HAS_BLOCKS,
    SEGMENT_LOST
};

struct segment_entry {
    uint64_t lease;
    uint32_t lane; /* first one, if it has blocks */
    uint32_t seq;
    uint8_t use;         /* enum segment_use */
    bool told;           /* what is lost in it has been counted */
    uint8_t blocks_told; /* the same for each block */
};

/* Entries of some segments; made when one of them is first in use. */
enum { SEGMENTS_PER_CHUNK = 64 };
struct segment_chunk {
    struct segment_entry entries[SEGMENTS_PER_CHUNK];
};

struct run_lane {
    struct ss_lane info;
    struct process_file *file;
    uint32_t index;  /* in the run */
    uint64_t block;  /* offset of its lane block, 0: none */
    bool block_told; /* what is lost among the records of the block has been counted */
    bool unsorted;
    bool is_read;       /* the process has ended, and the merged cursor has given all */
    uint32_t *segments; /* those with its records, by seq */
    size_t count, capacity;
    uint32_t last_seq;      /* largest seq of all */
    uint32_t changed_seq;   /* last place that was given away while being read */
    struct lane_tail *tail; /* of run_query.c */
};

struct lane_page; /* of lane_table.c */

struct process_file {
    struct ss_process info;
    struct source source;
    char *name;
    struct losses *losses;
    uint32_t index; /* in the run */
    uint32_t order; /* of its name among all */
    struct ss_file_header header;
    struct tick_range range;
    bool may_change;     /* the recorder did not say that it ended */
    bool has_no_writer;  /* no process has it open for writing any more */
    bool complete;       /* nothing can change any more */
    uint32_t generation; /* counts refreshes; 0: never read */

    struct segment_chunk **chunks;
    size_t chunk_capacity;
    uint64_t reused_seen;  /* header.reused_segments when all headers were last looked at */
    uint64_t copy_seen;    /* header.copy then */
    uint32_t *directories; /* segments that have blocks, in the order of discovery */
    size_t directory_count, directory_capacity;
    uint8_t *directories_seen; /* a bit for each number of a directory */
    size_t seen_capacity;

    struct run_lane **lanes; /* in the order of discovery */
    size_t lane_count, lane_capacity;
    size_t lanes_published;        /* those that the run knows */
    struct lane_page **lane_pages; /* the same, by number */
    size_t page_capacity;

    struct catalog catalog;
    struct timeline timeline;
};

/* A file of the run directory, or `blob` if not NULL. NULL if it is no process of a
 * run that this reader knows: then *code says why, and it is counted as lost as a
 * whole under `name`, which must stay. The process must be refreshed before it is
 * used. */
struct process_file *process_file_open(const char *name, const struct ss_blob *blob,
                                       struct file_pool *pool, struct losses *losses, int *code);
void process_file_close(struct process_file *file);

/* Looks at the file (again): header, segments, lanes, names, calibrations. 0 or
 * SS_E_NOMEM. */
int process_file_refresh(struct process_file *file, const struct host *host);

/* Reads the header again because a record is later than it allows; true if it now
 * allows more. */
bool process_file_look_again(struct process_file *file);

/* Ticks at which spans that are open end: stop, exit, or the last sign of life. */
uint64_t process_file_death(const struct process_file *file);

/* Counts [offset, offset + bytes) as lost, as far as it is in the file. */
void process_file_lose(struct process_file *file, enum ss_loss_kind kind, uint64_t offset,
                       uint64_t bytes);

/* Segments and lane blocks (segment_index.c). `all_again`: known ones may have been
 * given away. 0 or SS_E_NOMEM. */
int segment_index_refresh(struct process_file *file, bool all_again);
void segment_index_release(struct process_file *file);
struct segment_entry *segment_index_at(const struct process_file *file, uint64_t segment);
uint64_t segment_lease(struct process_file *file, uint64_t segment);

/* Lanes by number (lane_table.c). */
struct run_lane *lane_table_find(const struct process_file *file, uint32_t number);
/* Finds or makes it; NULL: no memory. */
struct run_lane *lane_table_make(struct process_file *file, uint32_t number);
/* Adds a segment to the row of its lane; lane_table_sort() must follow. 0 or
 * SS_E_NOMEM. */
int lane_table_add_segment(struct run_lane *lane, uint32_t segment, uint32_t seq);
/* Orders the rows and leaves one segment for each place. */
void lane_table_sort(struct process_file *file);
/* Empties the rows, keeps the lanes. */
void lane_table_clear_segments(struct process_file *file);
void lane_table_release(struct process_file *file);

#endif

/* The words that the recorder, the format and every reader share: stages, roles, scopes, flags.
 *
 * Each list is closed: a number is written into run files and never changes its meaning, a new
 * word is added at the end. docs/format.md (format 4) says the same for other languages. */
#ifndef STEPSCOPE_VOCABULARY_H
#define STEPSCOPE_VOCABULARY_H

/* What the time of a span was spent on. `other` is derived by the model and never recorded. */
#define SS_STAGES(X)                                                                               \
    X(OTHER, 0, "other", "not covered by any span")                                                \
    X(DATA, 1, "data", "waiting for the next batch")                                               \
    X(TRANSFER, 2, "transfer", "host to device")                                                   \
    X(FORWARD, 3, "forward", "forward pass")                                                       \
    X(BACKWARD, 4, "backward", "backward pass")                                                    \
    X(OPTIMIZER, 5, "optimizer", "optimizer step and zero_grad")                                   \
    X(COMPUTE, 6, "compute", "forward, backward and update fused by the framework")                \
    X(COMM, 7, "comm", "communication between ranks")                                              \
    X(SYNC, 8, "sync", "waiting for the device, device to host")                                   \
    X(CALLBACK, 9, "callback", "a callback, by its name")                                          \
    X(EVAL, 10, "eval", "evaluation")                                                              \
    X(INFER, 11, "infer", "prediction")                                                            \
    X(CHECKPOINT, 12, "checkpoint", "saving or restoring")                                         \
    X(COMPILE, 13, "compile", "tracing, JIT compilation, autotuning")                              \
    X(SETUP, 14, "setup", "iterators and workers made or torn down")                               \
    X(GC, 15, "gc", "garbage collection")                                                          \
    X(PRODUCE, 16, "produce", "making a batch in parallel with the loop: never step time")         \
    X(USER, 17, "user", "a span that the user named")

/* What a span or a mark says about the training loop. */
#define SS_ROLES(X)                                                                                \
    X(NONE, 0, "none")                                                                             \
    X(UPDATE, 1, "update")                                                                         \
    X(TRAIN_CALL, 2, "train_call")                                                                 \
    X(JIT_CALL, 3, "jit_call")                                                                     \
    X(EVAL_CALL, 4, "eval_call")                                                                   \
    X(EPOCH, 5, "epoch")                                                                           \
    X(USER_STEP, 6, "user_step")                                                                   \
    X(LOOP, 7, "loop")                                                                             \
    X(COLLECTIVE, 8, "collective")

/* When the framework runs a callback. Begin and end differ: a batch-begin callback may lead a
 * step. */
#define SS_SCOPES(X)                                                                               \
    X(NONE, 0, "none")                                                                             \
    X(BATCH_BEGIN, 1, "batch_begin")                                                               \
    X(BATCH_END, 2, "batch_end")                                                                   \
    X(EPOCH_BEGIN, 3, "epoch_begin")                                                               \
    X(EPOCH_END, 4, "epoch_end")                                                                   \
    X(TRAIN_BEGIN, 5, "train_begin")                                                               \
    X(TRAIN_END, 6, "train_end")

/* Bits of a record's flags. UNFINISHED: the thread or the process ended inside the span. SAMPLED:
 * it says how the stage around it divides, and is no part of the books. */
#define SS_FLAGS(X)                                                                                \
    X(TRAIN, 0, "train")                                                                           \
    X(EVAL, 1, "eval")                                                                             \
    X(FAILED, 2, "failed")                                                                         \
    X(ESTIMATE, 3, "estimate")                                                                     \
    X(PERTURBED, 4, "perturbed")                                                                   \
    X(OVERLAY, 5, "overlay")                                                                       \
    X(PRODUCER, 6, "producer")                                                                     \
    X(APPENDED, 7, "appended")                                                                     \
    X(UNFINISHED, 8, "unfinished")                                                                 \
    X(SAMPLED, 9, "sampled")

/* Marks what the libraries export; everything else is hidden. */
#define SS_API __attribute__((visibility("default")))

#define SS_ENUM_STAGE(id, number, text, meaning) SS_STAGE_##id = number,
#define SS_ENUM_ROLE(id, number, text) SS_ROLE_##id = number,
#define SS_ENUM_SCOPE(id, number, text) SS_SCOPE_##id = number,
#define SS_ENUM_FLAG(id, bit, text) SS_FLAG_##id = 1 << (bit),

enum ss_stage { SS_STAGES(SS_ENUM_STAGE) SS_STAGE_COUNT };
enum ss_role { SS_ROLES(SS_ENUM_ROLE) SS_ROLE_COUNT };
enum ss_scope { SS_SCOPES(SS_ENUM_SCOPE) SS_SCOPE_COUNT };
enum ss_flag { SS_FLAGS(SS_ENUM_FLAG) SS_FLAG_ALL = 0x3ff };

#endif

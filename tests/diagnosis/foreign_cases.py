"""The foreign scripts and what is expected of each, written down before the first of them ran: no
expectation is bent to a result (docs/diagnosis.md has hits and misses)."""

import collections

COMPUTES = ("compute-bound", "healthy")

# `steps` in all loops (of one rank); `evaluations`: how often a span of that stage is expected, so
# forward passes without gradients for PyTorch, calls of evaluation elsewhere; EVALUATES where only
# time can be seen. One of `verdicts` is right, as is one of `largest`, the stages of the step, and one
# of `names` in the first finding that warns; empty: nothing to name.
Case = collections.namedtuple("Case", "name framework steps evaluations verdicts largest names")
EVALUATES = -1


def case(name, framework, steps, evaluations, verdicts, largest, *names):
    return Case(name, framework, steps, evaluations, tuple(verdicts), tuple(largest.split()), names)


CASES = (
    case("torch_digits", "torch", 180, 6, COMPUTES, "backward"),
    case("torch_char_rnn", "torch", 200, 505, COMPUTES, "backward forward"),
    case("torch_vae", "torch", 192, 0, ["input-bound"], "data", "__getitem__"),
    case("torch_dcgan", "torch", 120, 4, COMPUTES, "backward"),
    case("torch_word_lm", "torch", 240, 20, COMPUTES, "backward"),
    case("torch_superres", "torch", 112, 0, ["input-bound"], "data", "__getitem__"),
    case("torch_reinforce", "torch", 300, 0, ["user-code"], "other", "select_action"),
    case("torch_dqn", "torch", 1500, 0, ["user-code"], "other", "optimize_model"),
    case("torch_siamese", "torch", 200, 8, ["input-bound"], "data", "turned"),
    case("torch_waves", "torch", 8, 8, ["too-few-steps"], "backward forward"),
    case("torch_graph", "torch", 240, 240, ["eval-heavy"], "backward forward"),
    case("torch_two_ranks", "torch", 200, 0, ["straggler", "user-code"], "",
         "rank 0", "write_log"),
    case("keras_functional", "keras", 270, 6, COMPUTES, "compute"),
    case("keras_custom_step", "keras", 180, 0, ["callback-bound"], "callback",
         "WeightHistory.on_train_batch_end"),
    case("keras_tape", "keras", 210, EVALUATES, ["user-code"], "other", "keep_metrics"),
    case("keras_pydataset", "keras", 160, 0, ["input-bound"], "data", "augment"),
    case("keras_py_function", "keras", 320, 0, ["input-bound"], "data", "load_sample"),
    case("keras_transfer", "keras", 200, 0, COMPUTES, "compute"),
    case("keras_k_fold", "keras", 1000, 5, ["compile-heavy", "setup-heavy"], "compute"),
    case("keras_gan", "keras", 120, 0, COMPUTES, "compute"),
    case("tf_function_loop", "tf", 300, 0, ["input-bound"], "other", "spectrum", "batches"),
    case("tf_sentences", "tf", 150, 0, ["retrace-storm"], "compile", "train_step"),
    case("jax_pytree", "jax", 400, EVALUATES, ["eval-heavy"], "compute sync", "accuracy"),
    case("jax_flax", "jax", 160, 4, COMPUTES, "compute sync"),
    case("lightning_tags", "lightning", 150, 4, ["checkpoint-heavy"], "backward forward optimizer",
         "heckpoint"),
    case("hf_trainer", "hf", 80, 8, ["eval-heavy"], "backward"),
    case("accelerate_words", "torch", 100, 0, ["input-bound"], "data", "tokens"),
    case("gpt_loop", "torch", 100, 200, ["eval-heavy"], "backward", "estimate_loss"),
    case("numpy_network", "numpy", 0, 0, ["no-steps"], ""),
    case("csv_regression", "c", 400, 0, ["input-bound"], "data", "read_batch"),
)

# Words that belong to another framework, in advice.
OTHER_WORDS = {
    "torch": ("tf.", "jax.", "Keras", "Lightning"),
    "keras": ("DataLoader", "jax.", "torch.", "Lightning"),
    "tf": ("DataLoader", "jax.", "torch.", "Lightning"),
    "jax": ("DataLoader", "tf.", "torch.", "Lightning"),
    "lightning": ("tf.", "jax.", "Keras"),
    "hf": ("tf.", "jax.", "Keras", "Lightning"),
    "numpy": ("DataLoader", "tf.", "jax.", "Keras", "Lightning"),
    "c": ("DataLoader", "tf.", "jax.", "Keras", "Lightning", "torch."),
}


def only(patterns):
    return [one for one in CASES if any(pattern in one.name for pattern in patterns)]

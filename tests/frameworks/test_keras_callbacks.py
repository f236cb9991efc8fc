"""What Keras brings itself: its callbacks by name, its progress bar, the numbers that it logs."""

import re
import unittest

from framework import last_line
from keras_checks import KerasTest, loops_of, names_of

EPOCHS, BATCHES, TESTS = 3, 10, 3
CALLS = {  # of each callback, all its instances together
    "TensorBoard.on_train_batch_begin": EPOCHS * BATCHES,
    "TensorBoard.on_train_batch_end": EPOCHS * BATCHES,
    "TensorBoard.on_test_end": EPOCHS, "TensorBoard.on_epoch_end": EPOCHS,
    "TensorBoard.on_train_begin": 1, "TensorBoard.on_train_end": 1,
    "ModelCheckpoint.on_train_batch_end": 2 * EPOCHS * BATCHES,
    "ModelCheckpoint.on_epoch_end": 2 * EPOCHS,
    "BackupAndRestore.on_epoch_end": EPOCHS, "BackupAndRestore.on_train_begin": 1,
    "CSVLogger.on_epoch_end": EPOCHS, "CSVLogger.on_train_begin": 1,
    "EarlyStopping.on_epoch_end": EPOCHS, "ReduceLROnPlateau.on_epoch_end": EPOCHS,
    "LearningRateScheduler.on_epoch_begin": EPOCHS,
    "TerminateOnNaN.on_batch_end": EPOCHS * BATCHES, "History.on_epoch_end": EPOCHS,
    "ProgbarLogger.on_train_batch_end": EPOCHS * BATCHES,
    "ProgbarLogger.on_test_batch_end": EPOCHS * TESTS, "ProgbarLogger.on_epoch_end": EPOCHS,
}


def without_times(text):
    """What the progress bar says, without its times and the spaces that make up for longer ones."""
    return re.sub(r"[ \b]+", " ", re.sub(r"\d+(us|ms|s)\b", "TIME", text))


class Builtin(KerasTest):
    def test_callbacks_numbers_and_output(self):
        hooked, plain = self.both("keras_builtins.py")
        self.assertIn("10/10", plain.stdout)
        self.assertEqual(without_times(hooked.stdout), without_times(plain.stdout))
        report = self.report()
        self.assertEqual([hook for hook in report["hooks"] if hook["reason"]], [])
        fit, by_hand = loops_of(report)
        self.assertEqual((fit["steps"]["count"], by_hand["steps"]["count"]), (EPOCHS * BATCHES, 3))
        self.check_names(report)
        self.check_counters(last_line(hooked))

    def check_names(self, report):
        names = names_of(report)
        for name, count in CALLS.items():
            self.assertEqual((name, names[name]["count"]), (name, count))
            self.assertEqual(names[name]["stage"], "callback", name)
        often = EPOCHS * BATCHES // 4  # by one of the callbacks; another one makes a backup an epoch
        saves = {name: span["count"] for name, span in names.items()
                 if span["stage"] == "checkpoint"}
        self.assertEqual(saves, {"Model.save": EPOCHS, "Model.save_weights": often + EPOCHS,
                                 "Model.load_weights": 1})

    def check_counters(self, said):
        """The values that Keras has brought to the host, to the last bit."""
        found = {}
        for record in self.records():
            if record["kind"] == "counter":
                found.setdefault(record["name"], []).append(record["value"])
        history, by_hand = said["history"], said["by_hand"]
        for name in ("val_loss", "val_mae"):  # after each epoch, and at the end
            self.assertEqual(found[name], history[name] + history[name][-1:])
        for name in ("loss", "mae"):  # after each batch too
            values = found[name]
            self.assertEqual(len(values), EPOCHS * (BATCHES + 1) + 1 + len(by_hand), name)
            self.assertEqual(values[BATCHES::BATCHES + 1][:EPOCHS], history[name])
        self.assertEqual(found["loss"][-len(by_hand):], by_hand)


if __name__ == "__main__":
    unittest.main()

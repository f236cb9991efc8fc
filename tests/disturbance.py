"""What a run says of itself about a machine that had other things to do."""

ITEMS = ("preempted", "others", "steal")


def is_disturbed(report):
    return any(item["level"] == "warn" for item in report["validity"]["items"]
               if item["id"] in ITEMS)


def check_undisturbed(measure, check, tries=3):
    """Calls check(*measure(scale)); the last value that `measure` returns is the report of its run. A
    measurement that fails is taken again with twice the steps if the run itself says that it was disturbed;
    the last one has to pass."""
    for attempt in range(tries):
        measured = measure(2 ** attempt)
        try:
            return check(*measured)
        except AssertionError:
            if attempt == tries - 1 or not is_disturbed(measured[-1]):
                raise

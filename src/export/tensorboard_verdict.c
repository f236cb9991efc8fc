#include "export/tensorboard_verdict.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "diagnose/finding.h"

/* Texts of ours with names of the run in them: safe, and nothing in them is Markdown or HTML. */
static void add_plain(struct buf *out, const char *text)
{
    struct buf safe = {0};

    text_safe(&safe, text, strlen(text));
    for (const char *at = buf_text(&safe); *at; at++) {
        if (*at == '<')
            buf_add_text(out, "&lt;");
        else if (*at == '&')
            buf_add_text(out, "&amp;");
        else if (strchr("\\`*_[]#|!~", *at))
            buf_printf(out, "\\%c", *at);
        else
            buf_add(out, at, 1);
    }
    out->failed = out->failed || safe.failed;
    buf_release(&safe);
}

static void add_line(struct buf *out, const char *label, const char *text)
{
    if (!*text)
        return;
    buf_printf(out, "- %s: ", label);
    add_plain(out, text);
    buf_add_text(out, "\n");
}

static void add_finding(struct buf *out, const struct finding *finding)
{
    buf_printf(out, "\n**%s** (%s", finding->id,
               finding_severity_text(finding->severity));
    if (isfinite(finding->share.mid))
        buf_printf(out, ", %s%.1f %% of %s",
                   finding->kind == SHARE_ESTIMATE ? "an estimated "
                   : finding->kind == SHARE_BOUND  ? "at most "
                                                   : "",
                   100 * (finding->kind == SHARE_BOUND ? finding->share.high
                                                       : finding->share.mid),
                   finding->of);
    buf_add_text(out, "): ");
    add_plain(out, finding->claim);
    buf_add_text(out, "\n\n");
    add_line(out, "because", finding->evidence);
    add_line(out, "try", finding->advice);
    add_line(out, "check", finding->check);
    add_line(out, "unsure", finding->unknown);
}

bool board_verdict(const struct model *model, const struct ss_run *run, struct buf *text,
                   struct buf *gist)
{
    struct snapshot *snapshot = model_snapshot(model);
    struct diagnosis diagnosis;

    if (!snapshot)
        return false;
    diagnose(&diagnosis, snapshot, run);
    const char *verdict = diagnosis_verdict(&diagnosis, snapshot);
    buf_printf(text, "# %s\n", verdict);
    buf_add_text(gist, verdict);
    for (size_t i = 0; i < diagnosis.count; i++) {
        const struct finding *finding = &diagnosis.finding[i];
        add_finding(text, finding);
        buf_printf(gist, " %s %s", finding->id, finding_severity_text(finding->severity));
    }
    snapshot_free(snapshot);
    return !text->failed && !gist->failed;
}

#include <string.h>

#include "cli/command.h"
#include "diagnose/explain.h"
#include "output/page.h"

/* The words of these texts that not everybody knows, a line each. */
static void print_words(struct page *page, const struct explanation *explanation)
{
    const char *const texts[] = {explanation->meaning, explanation->computed,
                                 explanation->fixes};
    const char *label = "Words";

    for (size_t i = 0; explain_word_at(i); i++) {
        const struct explained_word *word = explain_word_at(i);
        bool is_used = false;
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            is_used |= explain_uses(texts[k], word->word);
        if (!is_used)
            continue;
        buf_printf(&page->value, "%s: %s", word->word, word->meaning);
        page_field(page, label);
        label = "";
    }
}

static void print(struct console *console, const struct explanation *explanation)
{
    struct page page;

    page_init(&page, &console->out);
    buf_add_text(&page.value, explanation->id);
    page_line(&page);
    page_prose(&page, explanation->meaning);
    page_field(&page, "Means");
    page_prose(&page, explanation->computed);
    page_field(&page, "Computed");
    page_prose(&page, explanation->fixes);
    page_field(&page, "To do");
    print_words(&page, explanation);
    page_release(&page);
}

static int run(struct console *console, int count, char **operands)
{
    if (count == 0) {
        for (size_t i = 0; explain_at(i); i++)
            sink_printf(&console->out, "%s\n", explain_at(i)->id);
        return EXIT_FINE;
    }
    const struct explanation *explanation = explain_find(operands[0]);
    if (!explanation) {
        console_error(console,
                      "there is no finding '%s'. 'stepscope explain' lists all of them.",
                      operands[0]);
        return EXIT_USAGE;
    }
    print(console, explanation);
    return EXIT_FINE;
}

static const struct cli_option options[] = {{0}};

const struct command cmd_explain = {
    .name = "explain",
    .summary = "what a finding means, how it is computed, what to do",
    .operands = "[ID]",
    .details =
        "Prints the long text on a finding of 'stepscope report', or the list of all\n"
        "findings.\n",
    .options = options,
    .fewest = 0,
    .most = 1,
    .run = run,
};

/* The lists of include/stepscope/counters.h and vocabulary.h as tables. A number without a word is
 * "unknown". */
#include "read/counter_table.h"

#include "stepscope/reader.h"

#define COUNTER_FACTS(id, text, unit, kind, subject, meaning)                                      \
    {text, SS_UNIT_##unit, SS_COUNTER_##kind, SS_SUBJECT_##subject},

const struct counter_facts counter_table[SS_COUNTER_IDS] = {SS_COUNTERS(COUNTER_FACTS)};

#define TEXT_OF_STAGE(id, number, text, meaning) [number] = text,
#define TEXT_OF_WORD(id, number, text) [number] = text,
#define TEXT_OF_KIND(id, number, text, units) [number] = text,

static const char *word(const char *const *words, unsigned count, unsigned number)
{
    return number < count && words[number] ? words[number] : "unknown";
}

const char *ss_stage_text(unsigned stage)
{
    static const char *const words[] = {SS_STAGES(TEXT_OF_STAGE)};

    return word(words, sizeof words / sizeof *words, stage);
}

const char *ss_role_text(unsigned role)
{
    static const char *const words[] = {SS_ROLES(TEXT_OF_WORD)};

    return word(words, sizeof words / sizeof *words, role);
}

const char *ss_scope_text(unsigned scope)
{
    static const char *const words[] = {SS_SCOPES(TEXT_OF_WORD)};

    return word(words, sizeof words / sizeof *words, scope);
}

const char *ss_kind_text(unsigned kind)
{
    static const char *const words[] = {SS_KINDS(TEXT_OF_KIND)};

    return word(words, sizeof words / sizeof *words, kind);
}

const char *ss_flag_text(unsigned bit)
{
    static const char *const words[] = {SS_FLAGS(TEXT_OF_WORD)};

    return word(words, sizeof words / sizeof *words, bit);
}

/*
 * What was measured: named figures, one sample per round, and what each is compared with.
 *
 * A ratio is the median over the rounds of (sample / sample of the reference in the same round), so
 * that what the machine does to all of a round cancels.
 */
#ifndef GIRO_BENCH_FIGURES_H
#define GIRO_BENCH_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

enum
{
    FIGURES_MAX = 256,
    FIGURE_ROUNDS_MAX = 64,
    FIGURE_NAME_MAX = 64,
    FIGURE_REFERENCES_MAX = 128, /* bytes */
};

typedef struct Figures Figures;

/* What a figure is. Name and references are copied, the rest is lent for ever. */
typedef struct FigureKind
{
    const char *name;
    const char *unit;
    const char *load;       /* in what circumstances, for people */
    const char *references; /* names of figures, separated by blanks; NULL for none */
    bool detail;            /* for those who look closely: not in the printed table */
} FigureKind;

typedef struct Figure
{
    char name[FIGURE_NAME_MAX];
    const char *unit;
    const char *load;
    char references[FIGURE_REFERENCES_MAX];
    bool detail;
    double samples[FIGURE_ROUNDS_MAX]; /* by round; NAN where it was not measured */
} Figure;

Figures *figures_new(void);
void figures_free(Figures *figures); /* accepts NULL */

/* Once per figure and round. */
void figures_add(Figures *figures, const FigureKind *kind, int round, double value);

size_t figures_count(const Figures *figures);
const Figure *figures_at(const Figures *figures, size_t place);       /* in order of appearance */
const Figure *figures_find(const Figures *figures, const char *name); /* NULL if unknown */

/* Of an empty set of samples: NAN. */
double figure_median(const Figure *figure);
double figure_minimum(const Figure *figure);
double figure_maximum(const Figure *figure);
size_t figure_repetitions(const Figure *figure);

/* Calls visit for each reference of the figure that was measured. */
typedef void (*ReferenceVisitor)(void *context, const Figure *reference, double ratio);
void figures_visit_references(const Figures *figures, const Figure *figure, ReferenceVisitor visit,
                              void *context);

#endif

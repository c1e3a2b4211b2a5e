/* See figures.h. */
#include "figures.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Figures
{
    Figure rows[FIGURES_MAX];
    size_t count;
};

Figures *figures_new(void)
{
    return base_calloc(1, sizeof(Figures));
}

void figures_free(Figures *figures)
{
    free(figures);
}

size_t figures_count(const Figures *figures)
{
    return figures->count;
}

const Figure *figures_at(const Figures *figures, size_t place)
{
    ASSERT(place < figures->count);
    return &figures->rows[place];
}

const Figure *figures_find(const Figures *figures, const char *name)
{
    for (size_t i = 0; i < figures->count; i++)
    {
        if (strcmp(figures->rows[i].name, name) == 0)
            return &figures->rows[i];
    }
    return NULL;
}

static Figure *append(Figures *figures, const FigureKind *kind)
{
    ASSERT(figures->count < FIGURES_MAX);
    Figure *figure = &figures->rows[figures->count++];
    int length = snprintf(figure->name, sizeof figure->name, "%s", kind->name);
    ASSERT(length < FIGURE_NAME_MAX);
    length = snprintf(figure->references, sizeof figure->references, "%s",
                      kind->references == NULL ? "" : kind->references);
    ASSERT(length < FIGURE_REFERENCES_MAX);
    figure->unit = kind->unit;
    figure->load = kind->load;
    figure->detail = kind->detail;
    for (int round = 0; round < FIGURE_ROUNDS_MAX; round++)
        figure->samples[round] = NAN;
    return figure;
}

void figures_add(Figures *figures, const FigureKind *kind, int round, double value)
{
    ASSERT(round >= 0 && round < FIGURE_ROUNDS_MAX);
    Figure *figure = (Figure *)figures_find(figures, kind->name);
    if (figure == NULL)
        figure = append(figures, kind);
    ASSERT(isnan(figure->samples[round]));
    figure->samples[round] = value;
}

/* ---- statistics ------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The samples that were taken, ascending; returns how many. */
static size_t sort_samples(const double *samples, double *ret_sorted)
{
    size_t count = 0;
    for (size_t i = 0; i < FIGURE_ROUNDS_MAX; i++)
    {
        if (!isnan(samples[i]))
            ret_sorted[count++] = samples[i];
    }
    qsort(ret_sorted, count, sizeof *ret_sorted, compare);
    return count;
}

static double median_of(const double *samples)
{
    double sorted[FIGURE_ROUNDS_MAX];
    size_t count = sort_samples(samples, sorted);
    if (count == 0)
        return NAN;
    return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

double figure_median(const Figure *figure)
{
    return median_of(figure->samples);
}

double figure_minimum(const Figure *figure)
{
    double sorted[FIGURE_ROUNDS_MAX];
    return sort_samples(figure->samples, sorted) > 0 ? sorted[0] : NAN;
}

double figure_maximum(const Figure *figure)
{
    double sorted[FIGURE_ROUNDS_MAX];
    size_t count = sort_samples(figure->samples, sorted);
    return count > 0 ? sorted[count - 1] : NAN;
}

size_t figure_repetitions(const Figure *figure)
{
    double sorted[FIGURE_ROUNDS_MAX];
    return sort_samples(figure->samples, sorted);
}

static double ratio_of(const Figure *figure, const Figure *reference)
{
    double ratios[FIGURE_ROUNDS_MAX];
    for (size_t i = 0; i < FIGURE_ROUNDS_MAX; i++)
        ratios[i] = figure->samples[i] / reference->samples[i];
    return median_of(ratios);
}

void figures_visit_references(const Figures *figures, const Figure *figure, ReferenceVisitor visit,
                              void *context)
{
    char name[FIGURE_NAME_MAX];
    int taken = 0;
    for (const char *at = figure->references; sscanf(at, "%63s%n", name, &taken) == 1; at += taken)
    {
        const Figure *reference = figures_find(figures, name);
        if (reference != NULL)
            visit(context, reference, ratio_of(figure, reference));
    }
}

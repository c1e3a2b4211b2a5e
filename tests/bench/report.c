/* See report.h. */
#include "report.h"

#include "check.h"
#include "json/json_writer.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum
{
    JSON_MAX = 8 << 20,
    CELL_MAX = 40,
};

/* ---- the table ------------------------------------------------------------------------------- */

/* 12,345 · 123.4 · 1.234 */
static const char *format_value(double value, char ret_text[CELL_MAX])
{
    double size = fabs(value);
    if (isnan(value))
        snprintf(ret_text, CELL_MAX, "-");
    else if (size >= 1e6)
        snprintf(ret_text, CELL_MAX, "%.0f,%03.0f,%03.0f", floor(value / 1e6),
                 floor(fmod(value, 1e6) / 1000), fmod(value, 1000));
    else if (size >= 1000)
        snprintf(ret_text, CELL_MAX, "%.0f,%03d", floor(value / 1000), (int)fmod(value, 1000));
    else
        snprintf(ret_text, CELL_MAX, "%.*f", size >= 100 ? 0 : size >= 10 ? 1 : 2, value);
    return ret_text;
}

static void print_reference(void *context, const Figure *reference, double ratio)
{
    fprintf(context, "  %.*f x %s", ratio < 0.1 ? 3 : 2, ratio, reference->name);
}

static void print_figure(const Bench *bench, const Figure *figure, FILE *out)
{
    char cells[3][CELL_MAX];
    fprintf(out, "%-26s %12s %-16s %12s %12s", figure->name,
            format_value(figure_median(figure), cells[0]), figure->unit,
            format_value(figure_minimum(figure), cells[1]),
            format_value(figure_maximum(figure), cells[2]));
    figures_visit_references(bench->figures, figure, print_reference, out);
    fprintf(out, "\n");
}

static void print_world(const Bench *bench, WorldKind kind, FILE *out)
{
    if (bench->worlds[kind] == NULL)
        return;
    const WorldOptions *world = world_options(bench->worlds[kind]);
    fprintf(out, "  %-6s %d shards, %zu accounts, %zu transfers of history when it began\n",
            world->name, world->shards, world->accounts, world->history);
}

static void print_circumstances(const Bench *bench, FILE *out)
{
    const BenchOptions *options = &bench->options;
    const Machine *machine = &bench->machine;
    fprintf(out, "giro %s, PostgreSQL %s, all on one machine: %d cores, %s, %ld MiB\n",
            GIRO_VERSION, machine->postgres, machine->cores, machine->cpu, machine->memory_mib);
    fprintf(out, "fsync on, fdatasync of 8 KiB takes %.0f us; shared_buffers %s per server\n",
            machine->fdatasync_us, options->shared_buffers);
    fprintf(out, "girod: %d sessions per shard, batches of up to %d, %s\n", options->girod_sessions,
            options->girod_batch, options->girod_flags);
    fprintf(out, "medians of %d rounds, %.1f s per line and round\n", options->rounds,
            options->seconds);
    for (WorldKind kind = 0; kind < WORLD_COUNT; kind++)
        print_world(bench, kind, out);
}

void report_print(const Bench *bench, FILE *out)
{
    const char *load = NULL;
    fprintf(out, "\n");
    print_circumstances(bench, out);
    fprintf(out, "\n%-26s %12s %-16s %12s %12s  median of ratio to reference\n", "line", "median",
            "unit", "min", "max");
    for (size_t i = 0; i < figures_count(bench->figures); i++)
    {
        const Figure *figure = figures_at(bench->figures, i);
        if (figure->detail && !bench->options.details)
            continue;
        if (figure->load != load)
            fprintf(out, "  # %s\n", figure->load);
        load = figure->load;
        print_figure(bench, figure, out);
    }
}

/* ---- bench.json ------------------------------------------------------------------------------ */

static void put_number(JsonWriter *writer, const char *name, double value)
{
    char text[CELL_MAX];
    snprintf(text, sizeof text, "%.6g", value);
    json_put_raw(writer, name, isfinite(value) ? text : NULL);
}

static void put_reference(void *context, const Figure *reference, double ratio)
{
    JsonWriter *writer = context;
    json_begin_object(writer, NULL);
    json_put_string(writer, "to", reference->name);
    put_number(writer, "ratio", ratio);
    json_end_object(writer);
}

static void put_samples(JsonWriter *writer, const Figure *figure, int rounds)
{
    json_begin_array(writer, "samples");
    for (int round = 0; round < rounds; round++)
        put_number(writer, NULL, figure->samples[round]);
    json_end_array(writer);
}

static void put_figure(JsonWriter *writer, const Bench *bench, const Figure *figure)
{
    json_begin_object(writer, NULL);
    json_put_string(writer, "name", figure->name);
    json_put_string(writer, "load", figure->load);
    json_put_string(writer, "unit", figure->unit);
    put_number(writer, "median", figure_median(figure));
    put_number(writer, "min", figure_minimum(figure));
    put_number(writer, "max", figure_maximum(figure));
    json_put_integer(writer, "repetitions", (int64_t)figure_repetitions(figure));
    json_begin_array(writer, "references");
    figures_visit_references(bench->figures, figure, put_reference, writer);
    json_end_array(writer);
    put_samples(writer, figure, bench->options.rounds);
    json_end_object(writer);
}

static void put_machine(JsonWriter *writer, const Machine *machine)
{
    json_begin_object(writer, "machine");
    json_put_integer(writer, "cores", machine->cores);
    json_put_string(writer, "cpu", machine->cpu);
    json_put_integer(writer, "memory_mib", machine->memory_mib);
    json_put_string(writer, "kernel", machine->kernel);
    put_number(writer, "fdatasync_us", machine->fdatasync_us);
    json_end_object(writer);
}

static void put_settings(JsonWriter *writer, const BenchOptions *options)
{
    json_begin_object(writer, "settings");
    put_number(writer, "seconds", options->seconds);
    json_put_integer(writer, "rounds", options->rounds);
    json_put_string(writer, "filter", options->filter);
    json_put_string(writer, "girod_flags", options->girod_flags);
    json_put_integer(writer, "girod_sessions", options->girod_sessions);
    json_put_integer(writer, "girod_batch", options->girod_batch);
    json_put_string(writer, "postgres", options->postgres_settings);
    json_end_object(writer);
}

static void put_world(JsonWriter *writer, const World *world)
{
    const WorldOptions *options = world_options(world);
    json_begin_object(writer, NULL);
    json_put_string(writer, "name", options->name);
    json_put_integer(writer, "shards", options->shards);
    json_put_integer(writer, "accounts", (int64_t)options->accounts);
    json_put_integer(writer, "history", (int64_t)options->history);
    json_end_object(writer);
}

static void put_all(JsonWriter *writer, const Bench *bench)
{
    json_begin_object(writer, NULL);
    json_put_integer(writer, "format", 1);
    json_put_string(writer, "version", GIRO_VERSION);
    json_put_string(writer, "postgres", bench->machine.postgres);
    json_put_timestamp(writer, "at", (int64_t)time(NULL) * 1000000);
    put_machine(writer, &bench->machine);
    put_settings(writer, &bench->options);
    json_begin_array(writer, "worlds");
    for (WorldKind kind = 0; kind < WORLD_COUNT; kind++)
    {
        if (bench->worlds[kind] != NULL)
            put_world(writer, bench->worlds[kind]);
    }
    json_end_array(writer);
    json_begin_array(writer, "lines");
    for (size_t i = 0; i < figures_count(bench->figures); i++)
        put_figure(writer, bench, figures_at(bench->figures, i));
    json_end_array(writer);
    json_end_object(writer);
}

/* A line of the file per line of the table, so that a difference can be read. */
static void write_lines(const char *text, FILE *file)
{
    static const char start[] = "{\"name\":";
    for (const char *at = text; *at != '\0'; at++)
    {
        if (strncmp(at, start, sizeof start - 1) == 0)
            fputc('\n', file);
        fputc(*at, file);
    }
    fputc('\n', file);
}

void report_write(const Bench *bench, const char *path)
{
    JsonWriter *writer = json_writer_new(JSON_MAX);
    put_all(writer, bench);
    const char *text = json_writer_text(writer, NULL);
    check(text != NULL, "the report is too long");
    FILE *file = fopen(path, "we");
    check(file != NULL, "%s cannot be written", path);
    write_lines(text, file);
    check(fclose(file) == 0, "%s cannot be written", path);
    json_writer_free(writer);
}

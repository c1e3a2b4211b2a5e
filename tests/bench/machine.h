/* What the bench runs on. Texts are lent for ever; each is found out once. */
#ifndef GIRO_BENCH_MACHINE_H
#define GIRO_BENCH_MACHINE_H

typedef struct Machine
{
    int cores;
    long memory_mib;
    char cpu[128];
    char kernel[160];
    char postgres[64];
    double fdatasync_us; /* p50 of writing 8 KiB and fdatasync, in a directory */
} Machine;

void machine_look(Machine *ret_machine, const char *directory);

#endif

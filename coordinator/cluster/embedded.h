/*
 * The files that travel inside the binary: the SQL of schema/ and participants/, so that `girod
 * init` needs no files beside the program, and the OpenAPI description.
 */
#ifndef GIRO_EMBEDDED_H
#define GIRO_EMBEDDED_H

typedef struct EmbeddedFile
{
    const char *path; /* as in the repository: "participants/lock.sql" */
    const char *text;
} EmbeddedFile;

/* In the order of the paths; ends with a path of NULL. */
const EmbeddedFile *embedded_files(void);

#endif

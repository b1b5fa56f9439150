/* SPDX-License-Identifier: Apache-2.0
 *
 * The C participants of a soak: journals as demo.journal lays them out, bodies as soak.bodies makes them. */
#ifndef SOAK_LIFE_H
#define SOAK_LIFE_H

#include "actor.h"

#define PERIOD_NS INT64_C(30000000)
#define LARGEST_BYTES (4u << 20)
#define HEADER_BYTES 24u
#define SHORT_BYTES 8u
#define POISON (UINT64_C(1) << 63)
#define ANONYMOUS UINT64_C(0xffffffff)

enum kind { HELLO = 1, START, SENT, ABORTED, SKIPPED, GOT, CORRUPT, COUNT, HANDLED, COMMITTED, QUIET, DONE };

extern const uint8_t *noise;

void note(struct actor *me, enum kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
uint32_t body_size(struct actor *me, bool whole);
void body_make(uint64_t identity, uint8_t *body, uint32_t size);
/* The identity, or 0 if the body is not as its sender made it. */
uint64_t body_check(const char *sender, size_t sender_size, const uint8_t *body, uint32_t size);

int publish(struct actor *me);
int read_copies(struct actor *me);
int read_held(struct actor *me);

#endif

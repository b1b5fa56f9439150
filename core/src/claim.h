/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLR_CLAIM_H
#define SLR_CLAIM_H

#include "ring.h"

/* A publisher's private view of the ring. With one writer it is the truth; with many, tail and end are unused and freed
 * may be behind. */
struct slr_claimer {
    const struct slr_segment *s;
    uint32_t entry;
    uint64_t tail, end, freed, freed_start;
};

struct slr_claimed {
    uint64_t seq, start;
};

/* Finishes a claim that is not yet counted in tail, if there is one. */
void slr_claimer_help(const struct slr_segment *s);
/* After taking the entry's lock: finish and abandon what its last owner left. */
void slr_claimer_start(struct slr_claimer *c, const struct slr_segment *s, uint32_t entry);
/* Reserves `size` bytes and the next sequence; never waits. OK, FULL or CORRUPT. visible: the claim is to be seen by
 * others (a loan); else, with one writer, nothing is until the commit. */
int slr_claim(struct slr_claimer *c, uint64_t size, bool visible, struct slr_claimed *out);
/* Makes the filled message readable. */
void slr_commit(struct slr_claimer *c, uint64_t seq, uint64_t end, uint64_t lengths, int64_t time_ns);
void slr_abort(struct slr_claimer *c, uint64_t seq);

#endif

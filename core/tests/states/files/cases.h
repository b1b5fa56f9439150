/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILES_CASES_H
#define FILES_CASES_H

#include "states.h"

struct files_case {
    struct operation operation, recoverer; /* the second does it too, or something like it */
    void (*begin)(void); /* what is there before, and who uses it */
    void (*judge)(void);
    void (*end)(void); /* closes what begin opened; the files are removed by the caller */
};
extern const struct files_case files_cases[];
extern const size_t files_case_count;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells for the tests: stamped elements, in which every word follows from the number and its place.
 */
#ifndef STAMPED_H
#define STAMPED_H

#include "harness.h"

#define STAMP_WORDS 9 /* spans two cache lines */

void make_cells(const char *name, uint32_t depth); /* of stamped elements */
slipring_cells_writer *cells_writer(const char *name);
slipring_cells_reader *cells_reader(const char *name);
/* Fills and puts; the sequence it got. */
uint64_t put_stamped(slipring_cells_writer *writer, uint64_t number);
void fill_stamp(void *element, uint64_t number);
uint64_t read_stamp(const void *element); /* fails if it is torn */
uint64_t stamp_of(const slipring_cells_reader *reader, const slipring_element *element);
slipring_cells_counts cells_counts(const slipring_cells_reader *reader);
slipring_cells_info cells_info(const char *name);

#endif

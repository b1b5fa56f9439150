/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast one processor copies memory: blocks that stay in its cache, and blocks that do not fit there. Whatever copies a
 * body in and out again cannot be faster than half of it.
 *
 *     memory QUESTION TRANSPORT PLACE SECONDS size=BYTES
 */
#include "two.h"

#define PIECE (64u << 10) /* copied by one call, where that is less than the block */

int main(int argc, char **argv) {
    unsigned long long size = 0;
    if (argc != 6 || sscanf(argv[5], "size=%llu", &size) != 1 || size == 0)
        fail("usage: memory QUESTION TRANSPORT PLACE SECONDS size=BYTES");
    alarm(LIFETIME_S);
    stay_on(0);
    /* Equal modulo 4096: glibc's memcpy falls to a twentieth when they differ there by 16, as malloc would have them. */
    size_t pages = (size + 4095) / 4096 * 4096;
    char *from = aligned_alloc(4096, pages), *to = aligned_alloc(4096, pages);
    if (!from || !to) fail("no memory");
    memset(from, 1, size);
    memset(to, 2, size);
    size_t piece = size < PIECE ? size : PIECE;
    uint64_t until_ns = (uint64_t)(atof(argv[4]) * 1e9), copied = 0, begun = now_ns(), now = begun;
    while (now - begun < until_ns) {
        for (size_t at = 0; at + piece <= size; at += piece) {
            memcpy(to + at, from + at, piece);
            __asm__ volatile("" : : "r"(to + at) : "memory"); /* somebody might look */
        }
        copied += size / piece * piece;
        now = now_ns();
    }
    printf("{\"figures\": {\"bytes_per_s\": %.0f}}\n", (double)copied * 1e9 / (double)(now - begun));
    free(from);
    free(to);
    return 0;
}

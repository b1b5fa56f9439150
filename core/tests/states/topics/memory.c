/* SPDX-License-Identifier: Apache-2.0
 *
 * What the survivors' handles remember, kept aside while a judge uses them.
 */
#include "ports/publisher.h"
#include "ports/subscriber.h"
#include "survivors.h"

#define READERS 4

static struct survivors kept;
static struct slipring_publisher pub, lender;
static struct slipring_subscriber readers[READERS];

static slipring_subscriber *reader(int i) {
    slipring_subscriber *const all[READERS] = {kept.copier, kept.safe, kept.holder, kept.sleeper};
    return all[i];
}

void topic_save(void) {
    kept = live;
    if (kept.pub) pub = *kept.pub;
    if (kept.lender) lender = *kept.lender;
    for (int i = 0; i < READERS; i++)
        if (reader(i)) readers[i] = *reader(i);
}

void topic_restore(void) {
    live = kept;
    if (kept.pub) *kept.pub = pub;
    if (kept.lender) *kept.lender = lender;
    for (int i = 0; i < READERS; i++)
        if (reader(i)) *reader(i) = readers[i];
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENDLESS_SLEEPS_H
#define ENDLESS_SLEEPS_H

#include <stdbool.h>

extern bool endless_sleeps; /* of this process */

#endif

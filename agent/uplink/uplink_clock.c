/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples of the collector's clock; see uplink_clock.h.
 */
#include "uplink_clock.h"

#include <stddef.h>

#include "clock.h"

static uint64_t round_trip_ns(const struct clock_trip *trip)
{
    return trip->answered_ns - trip->sent_ns;
}

static int64_t offset_ns(const struct clock_trip *trip)
{
    return (int64_t)(trip->received_ns - (trip->sent_ns + round_trip_ns(trip) / 2));
}

static uint64_t clock_distance(int64_t a, int64_t b)
{
    return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
}

static uint32_t known(const struct clock_setting *setting)
{
    return setting->count < UPLINK_CLOCK_SAMPLES ? setting->count : UPLINK_CLOCK_SAMPLES;
}

static const struct clock_trip *best(const struct clock_setting *setting)
{
    const struct clock_trip *least = &setting->trips[0];
    for (uint32_t i = 1; i < known(setting); i++)
        if (round_trip_ns(&setting->trips[i]) < round_trip_ns(least))
            least = &setting->trips[i];
    return least;
}

static const struct clock_setting *clock_find(const struct uplink_clock *clock, uint64_t number)
{
    for (uint32_t i = 0; i < UPLINK_CLOCK_SETTINGS; i++) {
        const struct clock_setting *setting = &clock->settings[i];
        if (setting->count > 0 && setting->clock == number)
            return setting;
    }
    return NULL;
}

/* Each sample says where the offset lies, give or take half of its round trip. */
static bool clock_contradict(const struct clock_trip *a, const struct clock_trip *b)
{
    uint64_t age = b->answered_ns - a->answered_ns;
    uint64_t room = round_trip_ns(a) / 2 + round_trip_ns(b) / 2 + age / CLOCK_DRIFT_DIVISOR;
    return clock_distance(offset_ns(a), offset_ns(b)) > room;
}

bool uplink_clock_take(struct uplink_clock *clock, uint64_t number, const struct clock_trip *trip,
                       int64_t *step_ns)
{
    struct clock_setting *newest = &clock->settings[clock->newest];
    bool first = newest->count == 0, stepped = !first && clock_contradict(best(newest), trip);
    *step_ns = first ? 0 : offset_ns(trip) - offset_ns(best(newest));
    if (!first && newest->clock != number) { /* also after a restart of the collector */
        clock->newest = (clock->newest + 1) % UPLINK_CLOCK_SETTINGS;
        newest = &clock->settings[clock->newest];
        newest->count = 0;
    } else if (stepped) {
        newest->count = 0;
    }
    newest->clock = number;
    newest->trips[newest->count % UPLINK_CLOCK_SAMPLES] = *trip;
    newest->count++;
    return stepped;
}

static struct clock_map map_of(const struct clock_setting *setting)
{
    if (setting == NULL || setting->count == 0)
        return (struct clock_map){.known = false};
    const struct clock_trip *trip = best(setting);
    const uint64_t half_ns = round_trip_ns(trip) / 2;
    struct clock_map map = {.known = true,
                            .clock = setting->clock,
                            .offset_ns = offset_ns(trip),
                            .error_ns = half_ns + 1, /* the middle is rounded */
                            .measured_ns = trip->sent_ns + half_ns};
    if (clock_distance(map.offset_ns, 0) <= round_trip_ns(trip)) {
        map.error_ns += clock_distance(map.offset_ns, 0);
        map.offset_ns = 0;
    }
    return map;
}

uint64_t clock_map_error(const struct clock_map *map, uint64_t from_ns, uint64_t to_ns)
{
    if (map->error_ns == 0 || map->measured_ns == 0)
        return map->error_ns;
    uint64_t before_ns = from_ns < map->measured_ns ? map->measured_ns - from_ns : 0;
    uint64_t after_ns = to_ns > map->measured_ns ? to_ns - map->measured_ns : 0;
    uint64_t away_ns = before_ns > after_ns ? before_ns : after_ns;
    return map->error_ns + away_ns / CLOCK_DRIFT_DIVISOR + 1;
}

struct clock_map uplink_clock_of(const struct uplink_clock *clock, uint64_t number)
{
    return map_of(clock_find(clock, number));
}

struct clock_map uplink_clock_newest(const struct uplink_clock *clock)
{
    return map_of(&clock->settings[clock->newest]);
}

bool uplink_clock_allows(const struct uplink_clock *clock, uint64_t number, uint64_t sent_ns,
                         uint64_t now_ns)
{
    const struct clock_setting *setting = clock_find(clock, number);
    if (setting == NULL)
        return false;
    const struct clock_trip *trip = best(setting);
    uint64_t drift = (now_ns - trip->answered_ns) / CLOCK_DRIFT_DIVISOR;
    uint64_t latest = now_ns + (uint64_t)offset_ns(trip) + round_trip_ns(trip) / 2 + drift;
    return sent_ns == 0 || (int64_t)(latest - sent_ns) >= 0;
}

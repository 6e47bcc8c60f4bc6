/* SPDX-License-Identifier: Apache-2.0
 *
 * Latencies of a page: a histogram for each of the slowest regions, on an axis of powers of ten. Pure.
 */
#include "page_int.h"

#include <math.h>

#define PLOTS_MOST  12u
#define BARS_MOST   200u
#define COUNT_LEAST 4u /* fewer are no distribution */
#define WIDTH       320
#define HEIGHT      96 /* of the bars */
#define FOOT        22

struct plot {
    const struct page_region *region;
    double low, high; /* log10 of ns */
    double most;      /* of all buckets, a count */
};

static double log_of(uint64_t ns)
{
    return log10(ns > 0 ? (double)ns : 1);
}

static double x_of(const struct plot *p, double log_ns)
{
    double share = (log_ns - p->low) / (p->high - p->low);
    return 4 + (share < 0 ? 0 : share > 1 ? 1 : share) * (WIDTH - 8);
}

static struct plot plot_of(const struct page_region *region)
{
    struct plot p = {.region = region, .low = 20, .high = 0};
    for (size_t i = 0; i < region->bucket_count; i++) {
        const struct page_bucket *bucket = &region->buckets[i];
        if (bucket->count == 0)
            continue;
        p.low = fmin(p.low, floor(log_of(bucket->from_ns)));
        p.high = fmax(p.high, ceil(log_of(bucket->to_ns)));
        p.most = fmax(p.most, (double)bucket->count);
    }
    p.high = fmax(p.high, ceil(log_of(region->max_ns)));
    if (p.high < p.low + 1)
        p.high = p.low + 1;
    return p;
}

static void axis_put(struct buf *b, const struct plot *p)
{
    double step = ceil((p->high - p->low) / 5);
    for (unsigned i = 0; p->low + i * step <= p->high; i++) {
        double at = p->low + i * step, x = x_of(p, at);
        page_raw(b, "<line class=\"grid\"");
        page_xy(b, "x1", x);
        page_xy(b, "x2", x);
        buf_printf(b, " y1=\"0\" y2=\"%d\"/><text class=\"tick\"", HEIGHT + 3);
        page_xy(b, "x", x);
        buf_printf(b, " y=\"%d\" text-anchor=\"%s\">", HEIGHT + 15,
                   x < 20           ? "start"
                   : x > WIDTH - 20 ? "end"
                                    : "middle");
        int power = (int)at;
        static const char *const units[] = {"ns", "us", "ms", "s"};
        int unit = power < 12 ? power / 3 : 3;
        buf_printf(b, "%.0f %s</text>", pow(10, power - 3 * unit), units[unit]);
    }
}

static void bars_put(struct buf *b, const struct plot *p, uint64_t *left_out)
{
    const struct page_region *region = p->region;
    unsigned bars = 0;
    for (size_t i = 0; i < region->bucket_count; i++) {
        const struct page_bucket *bucket = &region->buckets[i];
        double from = x_of(p, log_of(bucket->from_ns)), to = x_of(p, log_of(bucket->to_ns));
        /* One of a million is seen, too: heights are of a root. */
        double height = sqrt((double)bucket->count / p->most) * HEIGHT;
        if (bucket->count == 0)
            continue;
        if (bars++ == BARS_MOST)
            *left_out += 1;
        if (bars > BARS_MOST)
            continue;
        height = height < 1.5 ? 1.5 : height;
        page_raw(b, "<rect class=\"bar\"");
        page_xy(b, "x", from);
        page_xy(b, "width", to - from > 1.2 ? to - from - 0.4 : 0.8);
        page_xy(b, "y", HEIGHT - height);
        page_xy(b, "height", height);
        page_raw(b, "><title>");
        page_duration(b, bucket->from_ns);
        page_raw(b, " to ");
        page_duration(b, bucket->to_ns);
        page_raw(b, ": ");
        page_count(b, bucket->count);
        page_raw(b, "</title></rect>");
    }
}

static void quantile_put(struct buf *b, const struct plot *p, uint64_t ns, const char *name)
{
    double x = x_of(p, log_of(ns));
    page_raw(b, "<line class=\"quantile\"");
    page_xy(b, "x1", x);
    page_xy(b, "x2", x);
    buf_printf(b, " y1=\"0\" y2=\"%d\"><title>%s</title></line>", HEIGHT, name);
}

static void plot_put(struct buf *b, const struct page_region *region, unsigned number)
{
    struct plot p = plot_of(region);
    uint64_t left_out = 0;
    page_raw(b, "<figure>\n<figcaption><b><bdi>");
    page_str(b, region->name, PAGE_NAME);
    page_raw(b, "</bdi></b> <bdi>");
    page_str(b, region->service, PAGE_NAME);
    page_raw(b, "</bdi><br/>");
    page_count(b, region->count);
    page_raw(b, " times; half within ");
    page_duration(b, region->p50_ns);
    page_raw(b, ", 99 % within ");
    page_duration(b, region->p99_ns);
    page_raw(b, ", longest ");
    page_duration(b, region->max_ns);
    buf_printf(b,
               "</figcaption>\n<svg class=\"plot\" role=\"img\" aria-labelledby=\"plot%u\" "
               "viewBox=\"0 0 %d %d\"><title id=\"plot%u\">How often it took how long</title>\n",
               number, WIDTH, HEIGHT + FOOT, number);
    axis_put(b, &p);
    bars_put(b, &p, &left_out);
    quantile_put(b, &p, region->p50_ns, "half took less");
    quantile_put(b, &p, region->p99_ns, "99 % took less");
    page_raw(b, "</svg>\n");
    if (left_out > 0)
        page_raw(b, "<p class=\"left\">Longer ones are not drawn.</p>\n");
    page_raw(b, "</figure>\n");
}

/* The region that took longest of those that took less than `below`, or as long and stand behind it:
 * each is given once. NULL: there is none. Idle waits are as long as nothing happens: they are left
 * out. */
static const struct page_region *slowest(const struct page *page, const struct page_region *below)
{
    const struct page_region *most = NULL;
    for (size_t i = 0; i < page->region_count; i++) {
        const struct page_region *r = &page->regions[i];
        bool before =
            below == NULL || r->max_ns < below->max_ns || (r->max_ns == below->max_ns && r > below);
        if (r->bucket_count > 0 && r->count >= COUNT_LEAST && !r->idle && before &&
            (most == NULL || r->max_ns > most->max_ns))
            most = r;
    }
    return most;
}

void page_latencies(struct buf *b, const struct page *page)
{
    size_t begin = b->len;
    unsigned drawn = 0;
    uint64_t left_out = 0;
    const struct page_region *region = slowest(page, NULL);
    if (region == NULL)
        return;
    page_raw(
        b,
        "<section id=\"latencies\">\n<h2>How long regions took</h2>\n<p>Those that took "
        "longest, where there are at least four; idle waits are left out. To the right is longer, each line ten times; higher "
        "is more often, by a square root, so that one of many is seen. The dashed lines: half "
        "took less, 99 % took less.</p>\n<div class=\"plots\">\n");
    for (; region != NULL; region = slowest(page, region)) {
        if (drawn < PLOTS_MOST && b->len - begin < PAGE_LATENCY_BYTES)
            plot_put(b, region, ++drawn);
        else
            left_out++;
    }
    page_raw(b, "</div>\n");
    page_left_out(b, left_out, "More regions, of which only the table tells");
    page_raw(b, "</section>\n");
}

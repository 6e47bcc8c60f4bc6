/* SPDX-License-Identifier: Apache-2.0
 *
 * A small service in C, to copy from: it serves invented requests for some seconds and is recorded
 * while it does. Run it beside a skein-agent, then ask for what happened just before:
 *
 *     SKEIN_SOCKET=/run/skein/agent.sock ./example_shop 10 &
 *     skein snapshot -l service=shop --pre 5s -o shop.skein && skein cat shop.skein
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <skein/skein.h>

/* A lock whose holders a trace shall show in their true order, whatever the clocks say. */
static pthread_mutex_t stock_lock = PTHREAD_MUTEX_INITIALIZER;
static struct skein_sequence stock_order = {.resource = 1};
static int stock = 1000;

static struct skein_string get_cart = SKEIN_STRING("GET /cart");
static struct skein_string post_order = SKEIN_STRING("POST /order");

static void nap_us(long us)
{
    struct timespec pause = {.tv_nsec = us * 1000};
    nanosleep(&pause, NULL);
}

static void take_from_stock(int pieces)
{
    SKEIN_REGION("take_from_stock", (i64, "pieces", pieces));
    pthread_mutex_lock(&stock_lock);
    skein_sequence_next(&stock_order);
    SKEIN_INSTANT("stock_locked", (seq, "stock", &stock_order));
    nap_us(200);
    stock -= pieces;
    if (stock < 0)
        stock = 1000;
    SKEIN_COUNTER("stock", stock);
    pthread_mutex_unlock(&stock_lock);
}

static void serve(unsigned *random)
{
    bool order = rand_r(random) % 4 == 0;
    SKEIN_REGION("request", (sym, "route", order ? &post_order : &get_cart));
    if (order)
        take_from_stock(rand_r(random) % 5 + 1);
    else
        nap_us(100);
    if (rand_r(random) % 500 == 0) {
        SKEIN_LOG(SKEIN_WARN, "the till jams");
        nap_us(50000);
        skein_snapshot("the till jammed"); /* an operator decides what that keeps */
    }
}

static void *worker(void *context)
{
    const time_t *until = context;
    unsigned random = (unsigned)(uintptr_t)&random;
    skein_thread_name("worker");
    while (time(NULL) < *until)
        serve(&random);
    return NULL;
}

int main(int argc, char **argv)
{
    long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 5;
    time_t until = time(NULL) + seconds;
    pthread_t workers[2];
    int status = skein_start(&(struct skein_options){
        .size = sizeof(struct skein_options), .service = "shop", .labels = "zone=a"});
    if (status < 0) /* the service goes on, unrecorded */
        fprintf(stderr, "shop: not recorded: %s\n", skein_status_text(status));
    for (int i = 0; i < 2; i++)
        if (pthread_create(&workers[i], NULL, worker, &until))
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    printf("shop: closed, %s\n", skein_attached() ? "and recorded" : "no agent recorded it");
    return 0;
}

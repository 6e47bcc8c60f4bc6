// SPDX-License-Identifier: Apache-2.0
//
// A small pipeline in C++17, to copy from: one thread makes jobs, another works on them. It shows
// regions that close when an exception passes, a region as a member, and an operation that is
// recorded only when it was slow.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <queue>
#include <stdexcept>
#include <string>
#include <thread>

#include <skein/skein.hpp>

namespace
{

skein_site wait_site =
    SKEIN_SITE(SKEIN_CLASS_SPAN, SKEIN_GROUP_LOCK, "wait_for_job", (i64, "queue"));
skein_site job_site = SKEIN_SITE(SKEIN_CLASS_RANGE_BEGIN, SKEIN_GROUP_APP, "job", (u64, "number"));

struct job {
    std::uint64_t number = 0;
    bool broken = false;
};

class queue
{
  public:
    void push(job j)
    {
        std::lock_guard<std::mutex> hold(mutex_);
        jobs_.push(j);
        SKEIN_COUNTER("queue_depth", static_cast<std::int64_t>(jobs_.size()));
        filled_.notify_one();
    }
    job pop()
    {
        // Shown as "in progress" to a snapshot; recorded if it took a millisecond.
        skein::operation waiting(wait_site, 0, 1000000);
        std::unique_lock<std::mutex> hold(mutex_);
        filled_.wait(hold, [this] { return !jobs_.empty(); });
        job j = jobs_.front();
        jobs_.pop();
        SKEIN_INSTANT("popped", (u64, "number", j.number), (seq, "queue", order_.next()));
        return j;
    }

  private:
    std::mutex mutex_;
    std::condition_variable filled_;
    std::queue<job> jobs_;
    skein::sequence order_;
};

// Its region lasts as long as it does.
class work
{
  public:
    explicit work(const job &j) : values_{}, region_((values_[0].u64 = j.number, job_site), values_)
    {
    }
    void run(const job &j)
    {
        SKEIN_REGION("run");
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        if (j.broken)
            throw std::runtime_error("job " + std::to_string(j.number) + " is broken");
    }

  private:
    skein_value values_[1];
    skein::region region_;
};

void consume(queue &jobs, std::uint64_t count)
{
    skein_thread_name("consumer");
    for (std::uint64_t done = 0; done < count; done++) {
        job j = jobs.pop();
        try {
            work w(j);
            w.run(j);
        } catch (const std::exception &e) {
            SKEIN_LOG(SKEIN_ERROR, e.what()); // the regions are closed by now
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
    skein_options options = {};
    options.size = sizeof options;
    options.service = "pipeline";
    const int status = skein_start(&options);
    if (status < 0)
        std::fprintf(stderr, "pipeline: not recorded: %s\n", skein_status_text(status));
    queue jobs;
    std::thread consumer(consume, std::ref(jobs), count);
    for (std::uint64_t n = 0; n < count; n++) {
        SKEIN_REGION("produce", (u64, "number", n));
        jobs.push(job{n, n % 97 == 96});
    }
    consumer.join();
    std::printf("pipeline: %llu jobs, %s\n", static_cast<unsigned long long>(count),
                skein_attached() ? "recorded" : "no agent recorded them");
    return 0;
}

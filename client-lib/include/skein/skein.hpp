/* SPDX-License-Identifier: Apache-2.0
 *
 * Skein for C++17: everything of skein.h, and regions as objects for where a macro does not fit (a
 * class's member, a region whose name is known at run time). Owns nothing but the objects that the
 * caller makes. The macros of skein.h work in C++ as they are, exceptions included.
 */
#ifndef SKEIN_HPP
#define SKEIN_HPP

#include <cstdint>

#include "skein/skein.h"

namespace skein
{

/* The service's heartbeat: see skein_health. Signal-safe; does not block. */
inline int health(bool ok, const char *why = nullptr) noexcept
{
    return skein_health(ok, why);
}

/* A region from construction to destruction, on one thread. `site` must live as long as the process
 * and be of class SKEIN_CLASS_RANGE_BEGIN; `values` are its arguments. Signal-safe; does not block.
 */
class region
{
  public:
    explicit region(skein_site &site, const skein_value *values = nullptr) noexcept
        : scope_(skein_region_open(&site, values))
    {
    }
    ~region()
    {
        skein_scope_leave(&scope_);
    }
    region(const region &) = delete;
    region &operator=(const region &) = delete;

  private:
    skein_scope scope_;
};

/* An operation that is recorded if it lasts: see skein_op_enter. */
class operation
{
  public:
    operation(skein_site &site, std::int64_t detail, std::uint64_t threshold_ns) noexcept
        : op_(skein_op_enter(&site, detail)), threshold_ns_(threshold_ns)
    {
    }
    ~operation()
    {
        skein_op_leave(&op_, threshold_ns_, values_);
    }
    /* Sets argument `index` of the record, from 1 on; 0 is the detail. */
    void set(unsigned index, skein_value value) noexcept
    {
        if (index < SKEIN_ARGS_MAX)
            values_[index] = value;
    }
    operation(const operation &) = delete;
    operation &operator=(const operation &) = delete;

  private:
    skein_op op_;
    std::uint64_t threshold_ns_;
    skein_value values_[SKEIN_ARGS_MAX] = {};
};

/* Orders events on one resource: advance it under the resource's own lock. */
class sequence
{
  public:
    sequence() noexcept : sequence_{reinterpret_cast<std::uintptr_t>(this), 0} {}
    const skein_sequence *next() noexcept
    {
        skein_sequence_next(&sequence_);
        return &sequence_;
    }
    sequence(const sequence &) = delete;
    sequence &operator=(const sequence &) = delete;

  private:
    skein_sequence sequence_;
};

} // namespace skein

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "netlink.h"

#include <linux/netlink.h>
#include <string.h>

#include "skein/status.h"

int netlink_next(const uint8_t *bytes, size_t n, size_t *at, struct netlink_message *message)
{
    struct nlmsghdr head;
    if (sizeof head > n - *at)
        return SKEIN_AGAIN;
    memcpy(&head, bytes + *at, sizeof head);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > n - *at)
        return SKEIN_CORRUPT;
    if (head.nlmsg_type == NLMSG_DONE)
        return SKEIN_OK;
    if (head.nlmsg_type == NLMSG_ERROR)
        return SKEIN_UNSUPPORTED;
    *message = (struct netlink_message){head.nlmsg_type, bytes + *at + sizeof head,
                                        head.nlmsg_len - sizeof head};
    size_t step = NLMSG_ALIGN((size_t)head.nlmsg_len);
    *at = step < n - *at ? *at + step : n;
    return 1;
}

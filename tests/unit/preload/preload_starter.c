/* SPDX-License-Identifier: Apache-2.0
 *
 * Becomes the program that its arguments name, with its environment as it is: as tini, gosu and their
 * like do, which are static.
 */
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc > 1)
        execvp(argv[1], argv + 1);
    return 127;
}

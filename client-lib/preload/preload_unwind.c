/* SPDX-License-Identifier: Apache-2.0
 *
 * The unwinder, which the compiler's cleanups refer to (-fexceptions): looked up when a thread is
 * really cancelled. Linked to as a library it would be loaded by every program, which costs a
 * process of a millisecond more than all else here together. glibc does the same. Any thread, while
 * its stack is being unwound, so that the unwinder is loaded already.
 */
#include <dlfcn.h>
#include <stddef.h>

/* The program's unwinder stays the program's: what is defined here answers this library alone. */
#pragma GCC visibility push(hidden)
#include <unwind.h>

typedef _Unwind_Reason_Code personality_function(int version, _Unwind_Action actions,
                                                 _Unwind_Exception_Class class,
                                                 struct _Unwind_Exception *exception,
                                                 struct _Unwind_Context *context);
typedef void resume_function(struct _Unwind_Exception *exception);

personality_function __gcc_personality_v0;
#pragma GCC visibility pop

/* NULL where there is none. Racing threads find the same. */
static void *unwinder_find(void **known, const char *name)
{
    void *address = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (address == NULL) {
        void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
        address = library != NULL ? dlsym(library, name) : NULL;
        __atomic_store_n(known, address, __ATOMIC_RELAXED);
    }
    return address;
}

_Unwind_Reason_Code __gcc_personality_v0(int version, _Unwind_Action actions,
                                         _Unwind_Exception_Class class,
                                         struct _Unwind_Exception *exception,
                                         struct _Unwind_Context *context)
{
    static void *known;
    personality_function *real =
        (personality_function *)unwinder_find(&known, "__gcc_personality_v0");
    return real != NULL ? real(version, actions, class, exception, context) : _URC_CONTINUE_UNWIND;
}

/* Called at the end of a cleanup, to which only the personality above leads. */
void _Unwind_Resume(struct _Unwind_Exception *exception)
{
    static void *known;
    resume_function *real = (resume_function *)unwinder_find(&known, "_Unwind_Resume");
    real(exception);
    __builtin_unreachable();
}

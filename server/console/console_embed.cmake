# SPDX-License-Identifier: Apache-2.0
# Makes the table of the console's files (console_files.h) of a folder.
#   cmake -DDIST=FOLDER -DWORK=FOLDER -DOUT=FILE.c -P console_embed.cmake
# Its bytes are copied to WORK, so that DIST may change while they are compiled. The same files make the
# same table and the same gzip, whenever and wherever that is.
cmake_minimum_required(VERSION 3.22)

# An ending that is not here stops the build: with a wrong type a browser applies no style and runs no script.
set(type_css "text/css; charset=utf-8")
set(type_html "text/html; charset=utf-8")
set(type_ico "image/x-icon")
set(type_js "text/javascript; charset=utf-8")
set(type_json "application/json")
set(type_png "image/png")
set(type_svg "image/svg+xml")
set(type_txt "text/plain; charset=utf-8")
set(type_wasm "application/wasm")
set(type_webmanifest "application/manifest+json")
set(type_woff2 "font/woff2")

find_program(GZIP gzip REQUIRED)
if(NOT EXISTS ${DIST}/index.html)
    message(FATAL_ERROR "${DIST} holds no console: there is no index.html")
endif()
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
file(GLOB_RECURSE names RELATIVE ${DIST} ${DIST}/*)
list(SORT names)

set(bytes "")
set(externs "")
set(rows "")
set(i 0)
foreach(name IN LISTS names)
    if(NOT name MATCHES "^[A-Za-z0-9._/-]+$")
        message(FATAL_ERROR "${DIST}/${name}: a name with other characters than letters, digits, '.', '_' and '-'")
    endif()
    string(REGEX REPLACE ".*\\." "" ending ${name})
    if(NOT DEFINED type_${ending})
        message(FATAL_ERROR "${DIST}/${name}: no media type for .${ending}; name it in console_embed.cmake")
    endif()
    configure_file(${DIST}/${name} ${WORK}/${i} COPYONLY)
    execute_process(COMMAND ${GZIP} -n -9 -c INPUT_FILE ${WORK}/${i} OUTPUT_FILE ${WORK}/${i}.gz COMMAND_ERROR_IS_FATAL ANY)
    file(SIZE ${WORK}/${i} plain)
    file(SIZE ${WORK}/${i}.gz packed)
    file(SHA256 ${WORK}/${i} hash)
    string(SUBSTRING ${hash} 0 32 hash)
    string(APPEND bytes "\n        \"console_plain_${i}: .incbin \\\"${WORK}/${i}\\\"\\n\"")
    string(APPEND externs "extern const uint8_t console_plain_${i}[];\n")
    set(gzip "NULL, 0")
    math(EXPR worth "${plain} * 9 / 10")
    if(packed LESS worth)
        string(APPEND bytes "\n        \"console_gzip_${i}: .incbin \\\"${WORK}/${i}.gz\\\"\\n\"")
        string(APPEND externs "extern const uint8_t console_gzip_${i}[];\n")
        set(gzip "console_gzip_${i}, ${packed}")
    endif()
    # Kept for a year is only what a change gives another name: what Vite has put into assets/ with a hash of eight
    # hexadecimal digits behind the last dash, of which one at least is no letter ("open-deadbeef.svg" is a name).
    set(immutable false)
    string(REPEAT "[0-9a-f]" 8 hash_digits)
    if(name MATCHES "^assets/.*-(${hash_digits})\\.[a-z0-9]+$")
        set(hash_text "${CMAKE_MATCH_1}")
        if(hash_text MATCHES "[0-9]")
            set(immutable true)
        endif()
    endif()
    string(APPEND rows "    {\"/${name}\", \"${type_${ending}}\", \"${hash}\",\n     console_plain_${i}, ${plain}, ${gzip}, ${immutable}},\n")
    math(EXPR i "${i} + 1")
endforeach()

file(WRITE ${OUT} "/* Made of ${DIST} by console_embed.cmake. */
#include \"console_files.h\"

__asm__(\".section .rodata\\n\"${bytes}
        \".previous\\n\");
${externs}
const struct console_file console_files[] = {
${rows}    {NULL, NULL, NULL, NULL, 0, NULL, 0, false}};
")

# Writes a C file that holds the bytes of INPUT as `const char NAME[]` with a NUL behind them, and their number.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "((0x..,){20})" "\\1\n    " bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"embedded.h\"\n\nconst char ${NAME}[] = {\n    ${bytes} 0,\n};\nconst size_t ${NAME}_length = sizeof ${NAME} - 1;\n")

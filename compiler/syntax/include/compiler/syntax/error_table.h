/* The one table of what can be wrong with a Weft text: X(NAME, number, class, title, explanation, wrong, right).
 *
 * NAME is what the front end's code calls it (LOOM_W_NAME), W<number> what users see; a number never gets another
 * meaning, and one that is no longer used is not given again. class is the loom_code of a program that has it: SYNTAX,
 * TYPE, LIMIT, RUNTIME (found when it runs: compiler/ir/trap.h has the numbers), or OK for a warning. wrong has this
 * error and no other, right is what one writes instead: a test holds both to it. Where wrong is NULL the shortest text
 * that causes it is too long to show (limits), or there is none.
 *
 * Hundreds: 1 characters, 2 grammar, 3 names, 4 types, 5 sequences, 6 sizes, 7 match, 8 stencils and permutes, 9
 * limits, 10 programs that run. Included where LOOM_WEFT_ERRORS is expanded (errors.h, errors.c); no other file has a
 * list of errors.
 */
#ifndef LOOM_COMPILER_SYNTAX_ERROR_TABLE_H
#define LOOM_COMPILER_SYNTAX_ERROR_TABLE_H

/* clang-format off */
#define LOOM_WEFT_ERRORS(X) \
    /* ---- characters ---- */ \
    X(CHARACTER, 101, SYNTAX, "a character that has no meaning", \
      "Programs are written in ASCII: letters, digits, `_` and `'` make names, and the operators are made of " \
      "`+ - * / % = ! > < & | ^ . ~`. Text in other alphabets may stand in comments.", \
      "entry main (x: f64) = $x + 1\n", \
      "entry main (x: f64) = x + 1\n") \
    X(NUL_BYTE, 102, SYNTAX, "a NUL byte in the text", \
      "A byte of value 0 stands in the text. The file was damaged, or it is no program: object code, an image, text in " \
      "UTF-16. Programs are ASCII, or UTF-8 in comments.", \
      NULL, NULL) \
    X(QUOTED, 103, SYNTAX, "a string or a character in quotes", \
      "Weft has no strings and no character literals. Text is an array of u8, given as an argument or a stream; a single " \
      "character is the number that encodes it.", \
      "entry main : u8 = 'a'\n", \
      "entry main : u8 = 97\n") \
    X(NUMBER_FORM, 104, SYNTAX, "a number that is not well formed", \
      "A number is decimal (12, 1.5, 1e-3), hexadecimal (0xff, 0x1.8p3) or binary (0b101), with `_` between digits at " \
      "will, and may end with the name of its type: 1i64, 0.5f32. A number with a fraction cannot have an integer type.", \
      "entry main : i64 = 12int\n", \
      "entry main : i64 = 12i64\n") \
    X(INTEGER_BITS, 105, SYNTAX, "an integer beyond 64 bits", \
      "The largest integer type is u64: an integer literal is at most 18446744073709551615. As a float it may be larger; " \
      "it is a float when it has a point, an exponent or a float type behind it.", \
      "entry main : f64 = 100000000000000000000\n", \
      "entry main : f64 = 1e20\n") \
    X(QUOTE_ALONE, 106, SYNTAX, "a quote without a name", \
      "A quote begins a type parameter, such as 'a. It may also end a name, as in x', but without a space.", \
      "type pair ' = (f64, f64)\n", \
      "type pair 'a = (a, a)\n") \
    /* ---- grammar ---- */ \
    X(EXPECTED, 201, SYNTAX, "something else was expected", \
      "At this place the grammar allows only what the message names. Often a name is missing, or a word of the language " \
      "(such as `in`, `do`, `case`) is used as one.", \
      "type do = f64\n", \
      "type done = f64\n") \
    X(EXPRESSION, 202, SYNTAX, "a value is missing", \
      "Here a value must stand: a number, a name, an application, `if`, `let`, `loop`, `match`, or something in " \
      "parentheses or brackets. An operator at the end of a line waits for its right side.", \
      "entry main (x: f64) = x +\n", \
      "entry main (x: f64) = x + 1\n") \
    X(TYPE, 203, SYNTAX, "a type is missing", \
      "Here a type must stand: a scalar type, a type's name, [n]t, (t, t), {x: t}, or seq t.", \
      "entry main (x: 3) = 1i64\n", \
      "entry main (x: f64) = 1i64\n") \
    X(PATTERN, 204, SYNTAX, "a name or a pattern is missing", \
      "Parameters, `let` and `loop` take a name, `_` for what is not needed, or a pattern that takes a tuple or record " \
      "apart: (x, y), {x, y}, (x: f64). Patterns of `case` may have literals too.", \
      "entry main (x: f64) = let + = x in x\n", \
      "entry main (x: f64) = let y = x in y\n") \
    X(DECLARATION, 205, SYNTAX, "a declaration does not begin so", \
      "A program is a list of declarations, each of which begins with `def`, `entry` or `type`. A declaration that was " \
      "meant to go on in the next line was perhaps already complete.", \
      "main (x: f64) = x\n", \
      "entry main (x: f64) = x\n") \
    X(DECLARATION_END, 206, SYNTAX, "the declaration should end here", \
      "The expression before this place is complete, and what follows neither continues it nor begins a declaration. " \
      "Often a parenthesis is closed once too often, or a `,` stands outside of parentheses.", \
      "entry main (x: f64) = (x + 1))\n", \
      "entry main (x: f64) = (x + 1)\n") \
    X(CLOSING, 207, SYNTAX, "a bracket is not closed", \
      "What was opened with `(`, `[`, `{` or a backtick needs its closing counterpart; between the parts of a tuple, an " \
      "array, a record or an index stand commas.", \
      "entry main (x: f64) = [x, x + 1\n", \
      "entry main (x: f64) = [x, x + 1]\n") \
    X(EQUALS, 208, SYNTAX, "`=` is missing", \
      "Between what is defined and its value stands `=`: in declarations, in `let`, in updates. Parameters with a type " \
      "stand in parentheses.", \
      "entry main (x: f64) + 1\n", \
      "entry main (x: f64) = x + 1\n") \
    X(LET_FORM, 209, SYNTAX, "a `let` without `in` and a value", \
      "`let` gives names to values for the expression that follows `in`: let x = 1 in x + x. Several `let` in a row need " \
      "one `in` behind the last. The whole is an expression, whose value is the one after `in`.", \
      "entry main (x: f64) = let y = x + 1\n", \
      "entry main (x: f64) = let y = x + 1 in y * y\n") \
    X(IF_FORM, 210, SYNTAX, "an `if` that is not whole", \
      "`if` is a value, so it has both branches: if c then a else b.", \
      "entry main (x: f64) = if x > 0 then x\n", \
      "entry main (x: f64) = if x > 0 then x else 0\n") \
    X(LOOP_FORM, 211, SYNTAX, "a `loop` that is not whole", \
      "A loop has a state with a start value, a rule that says how long it runs, and a body that gives the next state: " \
      "loop x = 1 for i < n do 2 * x; loop x = n while x > 1 do x / 2; loop s = 0 for x in xs do s + x.", \
      "entry main (n: i64) = loop x = 1i64 for i < n 2 * x\n", \
      "entry main (n: i64) = loop x = 1i64 for i < n do 2 * x\n") \
    X(MATCH_FORM, 212, SYNTAX, "a `match` that is not whole", \
      "A match has at least one case: match x case 0 -> a case _ -> b.", \
      "entry main (x: i64) = match x 0 -> 1i64\n", \
      "entry main (x: i64) = match x case 0 -> 1i64 case _ -> 2\n") \
    X(LAMBDA_FORM, 213, SYNTAX, "a lambda that is not whole", \
      "A function without a name is written \\x -> x + 1, one of two parameters \\x y -> x + y.", \
      "entry main (xs: []f64) = map (\\x = x + 1) xs\n", \
      "entry main (xs: []f64) = map (\\x -> x + 1) xs\n") \
    X(RANGE_FORM, 214, SYNTAX, "a range that is not whole", \
      "A range says whether its end belongs to it: a..<b is without b, a...b with it, a..>b goes down and is without b. " \
      "With a step the second element stands between: 0..2..<10.", \
      "entry main : []i64 = 0..9\n", \
      "entry main : []i64 = 0..<9\n") \
    X(PATTERN_LITERAL, 215, SYNTAX, "a literal where a name must stand", \
      "Parameters, `let` and `loop` bind whatever value comes, so their patterns have no literals. A `case` of a `match` " \
      "may have them.", \
      "entry main (x: i64) = let (0, y) = (x, x) in y\n", \
      "entry main (x: i64) = match (x, x) case (0, y) -> y case (_, y) -> y + 1\n") \
    X(UNDERSCORE, 216, SYNTAX, "`_` used as a value", \
      "`_` stands in a pattern for a value that needs no name. It has none, so it cannot be used.", \
      "entry main (xs: []f64) = map (_ + 1) xs\n", \
      "entry main (xs: []f64) = map (+ 1) xs\n") \
    X(TYPE_PARAMETER, 217, SYNTAX, "a parameter that a type cannot have", \
      "A type's parameters are sizes, [n], and types, 'a.", \
      "type vector (n: i64) = [n]f64\n", \
      "type vector [n] = [n]f64\n") \
    X(MODULES, 218, SYNTAX, "Weft has no modules", \
      "`import`, `module`, `open`, `local` and `include` are Futhark's or other languages'. A program may be several " \
      "files: all that are given to one command are read as one text, in this order.", \
      "import \"lib/sums\"\nentry main (xs: []f64) = sum xs\n", \
      "entry main (xs: []f64) = sum xs\n") \
    /* ---- names ---- */ \
    X(UNKNOWN_NAME, 301, TYPE, "a name that is not known", \
      "The name is neither bound around this place, nor defined before it, nor an operation. A `def` sees only what is " \
      "defined above it, and never itself: there is no recursion, but `loop`.", \
      "entry main (x: f64) = y + 1\n", \
      "entry main (x: f64) = x + 1\n") \
    X(UNKNOWN_TYPE, 302, TYPE, "a type that is not known", \
      "The name is neither a scalar type (bool, i8 to i64, u8 to u64, f32, f64, c64, c128) nor defined by a `type` above " \
      "this place.", \
      "entry main (x: float) = x\n", \
      "entry main (x: f64) = x\n") \
    X(DEFINED_TWICE, 303, TYPE, "two declarations of one name", \
      "Two declarations of a text (of all its files) have the same name. Names of the prelude may be defined again.", \
      "def f (x: f64) = x\ndef f (x: f64) = x + 1\nentry main (x: f64) = f x\n", \
      "def f (x: f64) = x\ndef g (x: f64) = x + 1\nentry main (x: f64) = g (f x)\n") \
    X(BOUND_TWICE, 304, TYPE, "one pattern binds a name twice", \
      "The parameters of a function, and the parts of a pattern, are bound together, so each needs a name of its own.", \
      "entry main (x: f64) (x: f64) = x\n", \
      "entry main (x: f64) (y: f64) = x + y\n") \
    X(FIELD_TWICE, 305, SYNTAX, "a record with a field twice", \
      "The fields of a record have different names.", \
      "entry main (x: f64) = {re = x, re = x}\n", \
      "entry main (x: f64) = {re = x, im = x}\n") \
    X(NO_FIELD, 306, TYPE, "a field that is not there", \
      "The record or tuple has no such field. Fields of a tuple are numbers from 0: t.0, t.1.", \
      "entry main (p: {x: f64}) = p.y\n", \
      "entry main (p: {x: f64}) = p.x\n") \
    X(SCALAR_TYPE_NAME, 307, TYPE, "a scalar type cannot be defined", \
      "The names of the scalar types are fixed.", \
      "type f32 = f64\n", \
      "type real = f64\n") \
    X(NO_QUALIFIED, 308, TYPE, "no such function or constant of a scalar type", \
      "T.f is the function or constant f at the scalar type T: f64.sqrt, f32.i64 (which converts), i64.sum, f32.inf, " \
      "(f64.+). Not every type has every function.", \
      "entry main (x: f64) = f64.root x\n", \
      "entry main (x: f64) = f64.sqrt x\n") \
    X(FOREIGN_NAME, 309, TYPE, "a foreign function that the system does not have", \
      "`foreign def` says that the system has a function of this name, which does what the body says. The hint lists those " \
      "that it has; a function of any other name is a `def`.", \
      "foreign def twice (x: f64) : f64 = x + x\nentry main (x: f64) = twice x\n", \
      "def twice (x: f64) : f64 = x + x\nentry main (x: f64) = twice x\n") \
    X(LIFTED_NAME, 310, TYPE, "a lifted version of something else than a function", \
      "`lifted regular f = f_rows` says that the function f_rows does what `map f` does. Both are functions of this program, " \
      "with parameters, and are defined before.", \
      "def rows (xss: [][]f64) = xss\nlifted regular smooth = rows\nentry main (xss: [][]f64) = rows xss\n", \
      "def row (xs: []f64) = xs\ndef rows (xss: [][]f64) = xss\nlifted regular row = rows\n" \
      "entry main (xss: [][]f64) = map row xss\n") \
    X(LIFTED_CYCLE, 311, TYPE, "a lifted version that uses the function it stands for", \
      "A call of f in a `map` is what its lifted version is put in place of, so the version, and all that it uses, is " \
      "written without f. The other way round f may use its version: that of a single element.", \
      "def half (x: f64) = x / 2\ndef halves (xs: []f64) = map half xs\nlifted regular half = halves\n" \
      "entry main (xs: []f64) = map half xs\n", \
      "def half (x: f64) = x / 2\ndef halves (xs: []f64) = map (/ 2) xs\nlifted regular half = halves\n" \
      "entry main (xs: []f64) = map half xs\n") \
    /* ---- types ---- */ \
    X(ARGUMENT, 401, TYPE, "an argument of another type", \
      "The function needs a value of another type at this place. Nothing is converted by itself: T x converts the scalar " \
      "x to the type T, map T.S xs the elements of an array. Arguments stand in the order of the parameters, separated by " \
      "blanks.", \
      "def half (x: f64) = x / 2\nentry main (n: i64) = half n\n", \
      "def half (x: f64) = x / 2\nentry main (n: i64) = half (f64 n)\n") \
    X(RESULT, 402, TYPE, "a result of another type", \
      "The function's body does not have the type that stands after the `:` of its head.", \
      "entry main (x: f32) : f64 = x * x\n", \
      "entry main (x: f32) : f64 = f64 (x * x)\n") \
    X(ANNOTATION, 403, TYPE, "a value does not have the type it is said to have", \
      "An annotation, (x: t) in a pattern or an expression, says which type a value has; it does not convert.", \
      "entry main (n: i64) = let (x: f64) = n in x\n", \
      "entry main (n: i64) = let (x: f64) = f64 n in x\n") \
    X(CONDITION, 404, TYPE, "a truth value is needed", \
      "Conditions, the sides of `&&` and `||`, and the results of functions given to `filter` and its kin are of type " \
      "bool. Numbers are not truth values: compare them.", \
      "entry main (n: i64) = if n then 1i64 else 2\n", \
      "entry main (n: i64) = if n != 0 then 1i64 else 2\n") \
    X(BRANCHES, 405, TYPE, "branches of different types", \
      "Both branches of an `if`, and the values of all cases of a `match`, have one type, because the whole is one value.", \
      "entry main (x: f64) (n: i64) = if x > 0 then x else n\n", \
      "entry main (x: f64) (n: i64) = if x > 0 then x else f64 n\n") \
    X(LOOP_STATE, 406, TYPE, "a loop's state changes its type", \
      "The body of a loop gives the state of the next turn, so it has the type of the start value. The length of an " \
      "array may change from turn to turn, its element type and nesting may not. A loop over two values has both in its " \
      "state, and its body gives both: loop (x, y) = ... do (x', y').", \
      "entry main (n: i64) = loop x = 1i64 for i < n do [x]\n", \
      "entry main (n: i64) = loop x = [1i64] for i < n do x ++ x\n") \
    X(ELEMENTS, 407, TYPE, "elements of different types", \
      "All elements of an array have one type. What belongs together and has different types is a tuple or a record.", \
      "entry main (x: f64) (n: i64) = [x, n]\n", \
      "entry main (x: f64) (n: i64) = [x, f64 n]\n") \
    X(INDEX_TYPE, 408, TYPE, "a size or index that is not an i64", \
      "Sizes and bounds of slices are of type i64, whatever the array. An index, and the bound of a loop that counts, may be " \
      "of a shorter type too: an index i8, i16 or i32, a bound any integer.", \
      "entry main (xs: []f64) (n: i32) = xs[:n]\n", \
      "entry main (xs: []f64) (n: i32) = xs[:i64 n]\n") \
    X(INDEX_DEPTH, 409, TYPE, "more indices than levels", \
      "xs[i, j] takes an element of an array of arrays. What is indexed here is no array, or is nested less deep.", \
      "entry main (xs: []f64) = xs[0, 1]\n", \
      "entry main (xs: [][]f64) = xs[0, 1]\n") \
    X(SIDES, 410, TYPE, "the sides of an operator have different types", \
      "Arithmetic and comparison work on two values of one type, and nothing is converted by itself. A literal takes the " \
      "type of the other side.", \
      "entry main (x: f64) (n: i64) = x * n\n", \
      "entry main (x: f64) (n: i64) = x * f64 n\n") \
    X(OPERAND, 411, TYPE, "an operation that this type does not have", \
      "The operation works on some scalar types only: `sqrt` on floats and complex numbers, `&` on integers, `<` on what " \
      "has an order (complex numbers have none). To work on all elements of an array: map f xs.", \
      "entry main (n: i64) = sqrt n\n", \
      "entry main (n: i64) = sqrt (f64 n)\n") \
    X(NOT_A_FUNCTION, 412, TYPE, "a value is given an argument", \
      "f x applies f to x. What stands before the argument is no function: an operator or a comma is missing, or the " \
      "function has fewer parameters than it is given. An index follows its array without a blank: xs[i].", \
      "entry main (x: f64) = x 2\n", \
      "entry main (x: f64) = x * 2\n") \
    X(ARITY, 413, TYPE, "a function of too many parameters", \
      "The function given to this operation is called with one argument from each array (or sequence), and must then have " \
      "all it needs.", \
      "entry main (xs: []f64) = map (\\x y -> x + y) xs\n", \
      "entry main (xs: []f64) (ys: []f64) = zip_with (\\x y -> x + y) xs ys\n") \
    X(FUNCTION_AS_VALUE, 414, TYPE, "a function where data must stand", \
      "Functions may be parameters and results of a `def` and be named by `let`; they are specialised away. They are " \
      "never elements of arrays or parts of types, loop state, or results of `if`. Often an argument is missing, and what " \
      "remains is a function of it.", \
      "entry main (x: f64) : f64 = max x\n", \
      "entry main (x: f64) : f64 = max x 0\n") \
    X(FUNCTION_NEEDED, 415, TYPE, "a function is needed", \
      "The parameter has the type of a function, and the argument is a value.", \
      "def twice (f: f64 -> f64) (x: f64) = f (f x)\nentry main (x: f64) = twice x x\n", \
      "def twice (f: f64 -> f64) (x: f64) = f (f x)\nentry main (x: f64) = twice sqrt x\n") \
    X(ENTRY_FUNCTION, 416, TYPE, "an entry with a function as parameter", \
      "An entry is called from outside, with data. Functions are parameters of a `def`.", \
      "entry main (f: f64 -> f64) (x: f64) = f x\n", \
      "def apply (f: f64 -> f64) (x: f64) = f x\nentry main (x: f64) = apply sqrt x\n") \
    X(OUT_OF_RANGE, 417, TYPE, "a literal outside of its type", \
      "The literal has a type whose values do not reach so far. A literal takes its type from its use; where nothing says " \
      "more, an integer is i32 and a float f64.", \
      "entry main (x: u8) = x + 300\n", \
      "entry main (x: u8) = u16 x + 300\n") \
    X(OPEN_ENTRY, 418, TYPE, "an entry of an open type", \
      "The types of an entry's parameters and result must be known, because data comes and goes through them. They are " \
      "annotated, or follow from the body.", \
      "entry main x = x\n", \
      "entry main (x: f64) = x\n") \
    X(OPEN_TYPE, 419, TYPE, "nothing says which type this has", \
      "A value is made whose type follows neither from its parts nor from its use, such as an empty array that is only " \
      "measured. Annotate it.", \
      "entry main = length []\n", \
      "entry main = length ([] : []f64)\n") \
    X(OPEN_USE, 420, TYPE, "nothing says what is used here", \
      "A field is taken of a value, or a value is transformed, whose type is not known where the `def` around it ends. " \
      "Annotate it.", \
      "entry main : i64 = length (fft [])\n", \
      "entry main : i64 = length (fft ([] : []c128))\n") \
    X(PATTERN_PARTS, 421, TYPE, "a pattern that does not fit the value", \
      "A tuple pattern has as many parts as the tuple has fields, a record pattern names fields that the record has.", \
      "entry main (t: (f64, f64, f64)) = let (a, b) = t in a + b\n", \
      "entry main (t: (f64, f64, f64)) = let (a, b, _) = t in a + b\n") \
    X(NOT_AN_ARRAY, 422, TYPE, "an array is needed", \
      "The operation works on arrays and is given a scalar, a tuple, or a sequence. [x] is an array of one element; " \
      "sequences have operations of their own, such as map_seq and fold_seq.", \
      "entry main (x: f64) = sum x\n", \
      "entry main (x: f64) = sum [x]\n") \
    X(NOT_TUPLES, 423, TYPE, "an array of tuples is needed", \
      "`unzip` and its kin take apart an array of tuples.", \
      "entry main (xs: []f64) = unzip xs\n", \
      "entry main (xs: []f64) = unzip (zip xs xs)\n") \
    X(OPERATOR, 424, TYPE, "an operator that does not return what it takes", \
      "The function given to a fold, a scan or a permute combines two values of a type to one of the same type; the step " \
      "of `reduce_seq` or `chain_seq` returns its accumulator's type.", \
      "entry main (xs: []f64) = fold (\\a b -> a < b) 0 xs\n", \
      "entry main (xs: []f64) = fold (\\a b -> if a < b then b else a) 0 xs\n") \
    X(NEUTRAL, 425, TYPE, "a neutral element of another type", \
      "A fold begins with its neutral element, which has the type of the elements.", \
      "entry main (xs: []f64) = fold (+) 0i64 xs\n", \
      "entry main (xs: []f64) = fold (+) 0 xs\n") \
    X(UPDATE_VALUE, 426, TYPE, "a new value of another type", \
      "An update gives an array with one element (or slice), or a record with one field, replaced; the new value has the " \
      "type of the old one.", \
      "entry main (xs: []f64) (n: i64) = xs with [0] = n\n", \
      "entry main (xs: []f64) (n: i64) = xs with [0] = f64 n\n") \
    X(RANGE_TYPE, 428, TYPE, "a range of something else than integers", \
      "The ends and the second element of a range are integers of one type.", \
      "entry main (x: f64) = 0..<x\n", \
      "entry main (x: f64) = 0..<i64 x\n") \
    X(AT_TYPE, 429, TYPE, "T.f of another type", \
      "T.f works on values of type T, and T.S converts from S to T.", \
      "entry main (x: f32) = f64.sqrt x\n", \
      "entry main (x: f32) = f64.sqrt (f64 x)\n") \
    X(COMPLEX_PARTS, 430, TYPE, "parts that do not go with a complex type", \
      "The parts and the absolute value of a c64 are f32, those of a c128 f64.", \
      "entry main (x: f32) (z: c128) = scale x z\n", \
      "entry main (x: f32) (z: c128) = scale (f64 x) z\n") \
    X(FIELD_TYPE, 431, TYPE, "a field of another type is needed", \
      "The use of the field needs another type than the record gives it.", \
      "def half p = let y = p.x / 2f64 in (y, (p : {x: i64}))\nentry main (x: i64) = x\n", \
      "def half (p: {x: i64}) = let y = f64 p.x / 2 in (y, p)\nentry main (x: i64) = half {x = x}\n") \
    X(TYPE_ARGUMENTS, 432, TYPE, "a type with the wrong number of parameters", \
      "A type that was defined with sizes and types is used with as many.", \
      "type pair 'a = (a, a)\nentry main (p: pair) = 1i64\n", \
      "type pair 'a = (a, a)\nentry main (p: pair f64) = 1i64\n") \
    X(RANK, 433, TYPE, "too many axes", \
      "`generate`, `reshape` and `fft` work on one to three axes.", \
      "entry main (n: i64) = generate (n, n, n, n) (\\i j k l -> i)\n", \
      "entry main (n: i64) = generate n (\\i -> generate (n, n, n) (\\j k l -> i))\n") \
    X(TRANSFORM, 434, TYPE, "a Fourier transform of something else than complex numbers", \
      "`fft` and `ifft` take arrays of complex numbers, nested to the number of axes.", \
      "entry main (xs: []f64) = fft xs\n", \
      "entry main (xs: []f64) = fft (map c128 xs)\n") \
    X(KEY_ORDER, 435, TYPE, "a key without an order", \
      "`sort` and `sort_by` need keys that can be compared: real numbers, truth values, and tuples of those, which are " \
      "compared from the left.", \
      "entry main (zs: []c128) = sort zs\n", \
      "entry main (zs: []c128) = sort_by (\\z -> (re z, im z)) zs\n") \
    X(FOREIGN_TYPE, 436, TYPE, "a foreign function of other types than the system's", \
      "The parameters and the result of a `foreign def` have types, and these are the types of the system's own function.", \
      "foreign def dft (xs: []f64) : []f64 = xs\nentry main (xs: []f64) = dft xs\n", \
      "foreign def dft (xs: []c128) : []c128 = fft xs\nentry main (xs: []c128) = dft xs\n") \
    X(LIFTED_TYPE, 437, TYPE, "a lifted version of other types than its function's", \
      "The lifted version of a function takes each of its parameters with one more level, [k][n]f64 for [n]f64, and gives " \
      "its results, one row for each element. A function that works on sequences has none.", \
      "def total (xs: []f64) = sum xs\ndef totals (xss: [][]f64) = sum (flatten xss)\nlifted regular total = totals\n" \
      "entry main (xss: [][]f64) = map total xss\n", \
      "def total (xs: []f64) = sum xs\ndef totals (xss: [][]f64) = map sum xss\nlifted regular total = totals\n" \
      "entry main (xss: [][]f64) = map total xss\n") \
    /* ---- sequences ---- */ \
    X(NOT_A_SEQ, 501, TYPE, "a sequence is needed", \
      "The operations that end in _seq work on sequences. `rows xs` makes one of an array.", \
      "entry main (xs: []f64) = fold_seq (+) 0 xs\n", \
      "entry main (xs: []f64) = fold_seq (+) 0 (rows xs)\n") \
    X(SEQ_PART, 502, TYPE, "a sequence inside of something", \
      "A sequence is a parameter or result of its own: it never stands in an array, a tuple, a record, loop state or an " \
      "accumulator. `from_seq` makes an array of it, in memory.", \
      "entry main (s: seq f64) = (s, 1i64)\n", \
      "entry main (s: seq f64) = (from_seq s, 1i64)\n") \
    X(SEQ_BRANCH, 503, TYPE, "a branch whose value is a sequence", \
      "The value of an `if` or a `match` cannot be a sequence. The condition goes inside, into the function given to " \
      "map_seq, or outside, around what consumes the sequence.", \
      "entry main (n: i64) (s: seq f64) : seq f64 = if n > 0 then s else map_seq (* 2) s\n", \
      "entry main (n: i64) (s: seq f64) : seq f64 = map_seq (\\x -> if n > 0 then x else x * 2) s\n") \
    X(SEQ_INSIDE, 504, TYPE, "a sequence is consumed inside of an operation", \
      "The functions given to operations say what happens to one element. They cannot traverse a sequence, themselves or " \
      "through a function they call; they may use a value that was made of one outside.", \
      "entry main (xs: []f64) (s: seq f64) = map (\\x -> x + fold_seq (+) 0 s) xs\n", \
      "entry main (xs: []f64) (s: seq f64) = let t = fold_seq (+) 0 s in map (\\x -> x + t) xs\n") \
    X(SEQ_RETURNED, 505, TYPE, "an element that is a sequence", \
      "The function given to an operation on arrays gives elements of an array, which are no sequences.", \
      "entry main (xs: []f64) (s: seq f64) = map (\\x -> s) xs\n", \
      "entry main (xs: []f64) (s: seq f64) = let ys = from_seq s in map (\\x -> ys) xs\n") \
    X(SEQ_INDEXED, 506, TYPE, "a sequence is indexed", \
      "The elements of a sequence come by in their order and are not at hand: it has no index.", \
      "entry main (s: seq f64) = s[0]\n", \
      "entry main (s: seq f64) = (from_seq s)[0]\n") \
    X(KEYS, 507, TYPE, "keys that are not a set", \
      "The function that gives the groups of an element gives a set of keys, []i64: an element may belong to several " \
      "groups, or to none.", \
      "entry main (s: seq i64) : seq i64 = group_seq 3 (\\x -> x % 3) s (\\k ys -> fold_seq (+) 0 ys)\n", \
      "entry main (s: seq i64) : seq i64 = group_seq 3 (\\x -> [x % 3]) s (\\k ys -> fold_seq (+) 0 ys)\n") \
    X(GROUP_RESULT, 508, TYPE, "a group's result that cannot be combined", \
      "`group_map_seq` makes a value of each element of a group, by `map_seq` and `zip_with_seq` alone, with the type of " \
      "the neutral element; the values that an element has in its groups are combined.", \
      "entry main (s: seq i64) : seq i64 = group_map_seq 3 (\\x -> [x % 3]) (+) 0 s (\\k ys -> filter_seq (> k) ys)\n", \
      "entry main (s: seq i64) : seq i64 = group_map_seq 3 (\\x -> [x % 3]) (+) 0 s (\\k ys -> map_seq (+ k) ys)\n") \
    /* ---- sizes ---- */ \
    X(FOREVER_AS_VALUE, 509, TYPE, "`forever` as a value", \
      "`forever` stands for the number of groups of `group_seq` where that ends with the sequence. It is no number: it " \
      "cannot be computed with, and `group_map_seq` takes none.", \
      "entry main (s: seq i64) : seq i64 = group_seq (forever - 1) (\\x -> [x]) s (\\k ys -> fold_seq (+) 0 ys)\n", \
      "entry main (s: seq i64) : seq i64 = group_seq forever (\\x -> [x]) s (\\k ys -> fold_seq (+) 0 ys)\n") \
    X(SIZE_FORM, 601, TYPE, "a size that is not one", \
      "A size in a type is a name, a number of at most 63 bits, or + - * of those, and its names are of type i64.", \
      "entry main [n] (xs: [n]f64) : [n / 2]f64 = take (n / 2) xs\n", \
      "entry main [n] (xs: [n]f64) : []f64 = take (n / 2) xs\n") \
    X(SIZE_UNKNOWN, 602, TYPE, "a size without a value", \
      "A size name gets its value where an array of a parameter has it as an extent, or where it is itself a parameter, " \
      "`(n: i64)`. One that stands only in a result or in a sum has none. In the elements of a stream, `s: seq ([n]f64)`, it says " \
      "of each element how long that is, and the next one may be of another length: so there is no `n` before the first " \
      "element has come, or behind the last one. With a parameter `n`, or an array parameter that has it, all elements are held to " \
      "be as long.", \
      "entry main [n] (s: seq ([n]f64)) : []f64 = fold_seq (zip_with (+)) (replicate n 0) s\n", \
      "entry main (n: i64) (s: seq ([n]f64)) : []f64 = fold_seq (zip_with (+)) (replicate n 0) s\n") \
    X(SIZE_OF_STREAMS, 603, TYPE, "two streams share a size that no array has", \
      "A size name that stands in the elements of two sequences is the same for both streams, and must be known before " \
      "they come.", \
      "entry main [n] (s: seq ([n]f64)) (t: seq ([n]f64)) = fold_seq (+) 0 (zip_with_seq (\\x y -> sum x + sum y) s t)\n", \
      "entry main [m][n] (s: seq ([m]f64)) (t: seq ([n]f64)) = fold_seq (+) 0 (zip_with_seq (\\x y -> sum x + sum y) s t)\n") \
    /* ---- match, loop ---- */ \
    X(CASES_MISSING, 701, TYPE, "a `match` without a case for every value", \
      "A match has a value whatever comes, so its cases together fit all values. The message shows one that none fits; " \
      "`case _` fits the rest.", \
      "entry main (b: bool) (n: i64) = match (b, n) case (true, _) -> 1i64 case (false, 0) -> 2\n", \
      "entry main (b: bool) (n: i64) = match (b, n) case (true, _) -> 1i64 case (false, _) -> 2\n") \
    X(CASE_PATTERN, 702, TYPE, "a case of another type", \
      "The patterns of all cases have the type of what is matched.", \
      "entry main (n: i64) = match n case true -> 1i64 case _ -> 2\n", \
      "entry main (n: i64) = match n case 1 -> 1i64 case _ -> 2\n") \
    X(CASE_UNREACHED, 703, OK, "a case that is never reached", \
      "A warning: the first case that fits is taken, and those before this one fit all that it fits.", \
      "entry main (n: i64) = match n case _ -> 1i64 case 0 -> 2\n", \
      "entry main (n: i64) = match n case 0 -> 2i64 case _ -> 1\n") \
    X(LOOP_START, 704, TYPE, "a loop without a start value", \
      "loop x while ... takes the start value from the variable of the same name. Any other pattern needs one: loop (x, y) " \
      "= (0, 1) while ...", \
      "entry main (n: i64) = loop (_: i64) for i < n do i\n", \
      "entry main (n: i64) = loop (_: i64) = 0 for i < n do i\n") \
    /* ---- stencils and permutes ---- */ \
    X(BOUNDARY, 801, TYPE, "not a boundary", \
      "A stencil's first argument says what its window sees outside of the array: #clamp (the last element again), #mirror, " \
      "#wrap, or (#constant c).", \
      "entry main (xs: []f64) = stencil #zero (\\w -> w[0]) xs\n", \
      "entry main (xs: []f64) = stencil (#constant 0) (\\w -> w[0]) xs\n") \
    X(BOUNDARY_VALUE, 802, TYPE, "a boundary's constant is missing or of another type", \
      "`#constant` takes the value that a stencil's window sees outside of the array; it has the type of the elements.", \
      "entry main (xs: []f64) = stencil #constant (\\w -> w[0]) xs\n", \
      "entry main (xs: []f64) = stencil (#constant 0) (\\w -> w[0]) xs\n") \
    X(WINDOW_AXES, 803, TYPE, "a window read with another number of indices", \
      "A stencil has as many axes as its window is read with indices, one to three, the same number at each read, and not " \
      "more than the array has levels.", \
      "entry main (xs: [][]f64) = stencil #clamp (\\w -> w[0, 1] + sum w[1]) xs\n", \
      "entry main (xs: [][]f64) = stencil #clamp (\\w -> w[0, 1] + w[1, 0]) xs\n") \
    X(WINDOW_SLICE, 804, TYPE, "a slice of a window", \
      "A stencil's window is read element by element.", \
      "entry main (xs: []f64) = stencil #clamp (\\w -> sum w[-1:2]) xs\n", \
      "entry main (xs: []f64) = stencil #clamp (\\w -> sum (map (\\d -> w[d]) (-1...1))) xs\n") \
    X(WINDOW_AS_VALUE, 805, TYPE, "a window or a boundary as a value", \
      "A stencil's window can only be read, w[-1] or w[0, 1], and a boundary only be given to `stencil`; neither can be " \
      "returned, or stored in an array.", \
      "entry main (xs: []f64) = stencil #clamp (\\w -> w) xs\n", \
      "entry main (xs: []f64) = stencil #clamp (\\w -> w[0]) xs\n") \
    X(TARGET, 806, TYPE, "a target that does not go with its indices", \
      "A permute (or scatter) adds into the outer axes of its target: one for indices that are i64, r for r-tuples.", \
      "entry main (d: []f64) (is: [](i64, i64)) (xs: []f64) = permute (+) d is xs\n", \
      "entry main (d: [][]f64) (is: [](i64, i64)) (xs: []f64) = permute (+) d is xs\n") \
    X(INDICES, 807, TYPE, "places that are not indices", \
      "Places in an array are i64, or tuples of i64 for several axes: those given to permute, scatter and gather, and " \
      "those that the function given to backpermute returns.", \
      "entry main (d: []f64) (is: []i32) (xs: []f64) = permute (+) d is xs\n", \
      "entry main (d: []f64) (is: []i32) (xs: []f64) = permute (+) d (map i64.i32 is) xs\n") \
    X(CONTRIBUTIONS, 808, TYPE, "values that do not go with their indices", \
      "The values of a permute (or scatter) are nested as its indices are, one for each, with the type of the target's " \
      "elements.", \
      "entry main (d: []f64) (is: []i64) (xs: []f32) = permute (+) d is xs\n", \
      "entry main (d: []f64) (is: []i64) (xs: []f32) = permute (+) d is (map f64.f32 xs)\n") \
    /* ---- limits ---- */ \
    X(TEXT_SIZE, 901, LIMIT, "a file that is too long", \
      "A file has at most 16777216 bytes. Data does not belong in a program: give it as an argument or a stream.", \
      NULL, NULL) \
    X(NESTING, 902, SYNTAX, "brackets or keywords nested too deep", \
      "Parentheses, brackets, lambdas, `if` and their like are nested at most 200 deep, types too. Name the inner parts with " \
      "`let` or `def`.", \
      NULL, NULL) \
    X(HEIGHT, 903, SYNTAX, "an expression that is too tall", \
      "An expression, with its chains of operators, is at most 1000 steps tall. Name parts of it with `let`, or sum an " \
      "array.", \
      NULL, NULL) \
    X(TUPLE_SIZE, 904, SYNTAX, "too many parts", \
      "A tuple or record has at most 1024 parts, a function as many sizes. What is more of the same is an array.", \
      NULL, NULL) \
    X(TYPE_SIZE, 905, LIMIT, "a type of too many scalars", \
      "A type has at most 4096 scalars, all tuples and records in it counted out. Such a type usually doubles from `let` to " \
      "`let`; what is more of the same is an array.", \
      NULL, NULL) \
    X(TYPE_DEPTH, 906, LIMIT, "a type nested too deep", \
      "Types are nested at most 64 deep: arrays, tuples and records counted together.", \
      NULL, NULL) \
    X(RECURSION, 907, LIMIT, "expressions nested too deep after expansion", \
      "Functions are expanded where they are called; with all that is expanded, expressions are nested at most 1500 deep.", \
      NULL, NULL) \
    X(EXPANSION, 908, LIMIT, "functions that use each other too deep", \
      "A def that calls a def that calls a def and so on: at most 100 levels.", \
      NULL, NULL) \
    X(INSTANCES, 909, LIMIT, "too many specialised functions", \
      "A def is specialised for each set of types it is called with, and there are too many of those in all.", \
      NULL, NULL) \
    X(OPERATIONS, 910, LIMIT, "a program that expands to too much", \
      "Functions given to a def are expanded where they are used, so a few lines can double again and again. The program " \
      "has more operations, after that, than the compiler takes. Use a `loop`, or call a def without function parameters.", \
      NULL, NULL) \
    X(STEPS, 911, LIMIT, "a program that takes too long to check", \
      "Checking has taken as many steps as it may. Functions that are expanded again and again do this, or a `match` whose " \
      "patterns can only be compared by trying all combinations.", \
      NULL, NULL) \
    X(BODIES, 912, LIMIT, "operations nested too deep", \
      "The functions given to operations, and the bodies of loops and branches, are nested too deep in each other.", \
      NULL, NULL) \
    X(SIZE_PARTS, 913, LIMIT, "a size of too many parts", \
      "A size in a type is a sum of too many names. Give it a name.", \
      NULL, NULL) \
    X(MEMORY, 914, LIMIT, "a program that needs too much memory to check", \
      "The text expands to more than the memory holds that the compiler may use.", \
      NULL, NULL) \
    X(NAME_LENGTH, 915, LIMIT, "a name that is too long", \
      "A name has at most 255 bytes: it goes into messages, column names and names of files.", \
      NULL, NULL) \
    X(CORE, 998, LIMIT, "a program that the rest of the compiler does not take", \
      "The program was understood, but its form is beyond a limit of the rest of the compiler, which the message names.", \
      NULL, NULL) \
    X(PRELUDE, 999, TYPE, "a defect of Gridloom: its prelude is not whole", \
      "A function of the prelude that the compiler uses is not there. No program is to blame.", \
      NULL, NULL) \
    /* ---- programs that run ---- */ \
    X(RUN_INDEX, 1001, RUNTIME, "an index outside of its array", \
      "An index is at least 0 and less than the length of the array. Negative indices do not count from the end.", \
      "entry main : i64 = let xs = iota 3 in xs[length xs]\n", \
      "entry main : i64 = let xs = iota 3 in xs[length xs - 1]\n") \
    X(RUN_SLICE, 1002, RUNTIME, "a slice outside of its array", \
      "Of `xs[from:to]` it holds that 0 <= from <= to <= length xs; a step is not 0, and with a negative one the " \
      "slice goes down, -1 <= to <= from < length xs.", \
      "entry main : []i64 = let xs = iota 3 in xs[1:length xs + 1]\n", \
      "entry main : []i64 = let xs = iota 3 in xs[1:length xs]\n") \
    X(RUN_CLAIM, 1003, RUNTIME, "a length that is not the one a size claims", \
      "A size in a type is a claim that is checked when the value comes in, is returned, or is the state of a " \
      "loop. The message names both lengths, and where each comes from. A level without a size claims nothing.", \
      "def twice [n] (xs: [n]i64) : [n]i64 = xs ++ xs\n" \
      "entry main : []i64 = twice (iota 3)\n", \
      "def twice [n] (xs: [n]i64) : []i64 = xs ++ xs\n" \
      "entry main : []i64 = twice (iota 3)\n") \
    X(RUN_DIVISION, 1004, RUNTIME, "a division of integers by zero", \
      "Integers have no value for it; floats give inf or nan. Where the quotient is not used, compiled code may " \
      "pass it by.", \
      "entry main : i64 = let n = length (filter (> 5) (iota 3)) in 10 / n\n", \
      "entry main : i64 = let n = length (filter (> 5) (iota 3)) in if n == 0 then 0 else 10 / n\n") \
    X(RUN_SHIFT, 1005, RUNTIME, "a shift by a negative number", \
      "A shift by the number of bits or more gives 0, or the sign; by a negative number it has no meaning.", \
      "entry main : i64 = let n = length (filter (> 5) (iota 3)) in 1 << (n - 1)\n", \
      "entry main : i64 = let n = length (filter (> 5) (iota 3)) in 1 << n\n") \
    X(RUN_ASSERTION, 1006, RUNTIME, "an assertion that does not hold", \
      "The condition of the program's own `assert` was false.", \
      "entry main : i64 = let n = length (iota 3) in assert (n > 3) n\n", \
      "entry main : i64 = let n = length (iota 3) in assert (n >= 3) n\n") \
    X(RUN_RANGE, 1007, RUNTIME, "a range that goes the wrong way", \
      "`a..<b` and `a...b` go up and `a..>b` goes down; the second element of a range with a step lies beyond " \
      "the first in that direction. A range that ends where it begins is empty.", \
      "entry main : []i64 = let n = length (iota 3) in 5..<n\n", \
      "entry main : []i64 = let n = length (iota 3) in 0..<n\n") \
    X(RUN_UPDATE, 1008, RUNTIME, "an update that does not fit", \
      "`xs with [from:to] = ys` replaces as many values as it is given, inside of xs.", \
      "entry main : []i64 = iota 3 with [1:3] = iota 3\n", \
      "entry main : []i64 = iota 3 with [1:3] = iota 2\n") \
    X(RUN_LENGTHS, 1009, RUNTIME, "arrays of different lengths side by side", \
      "`zip`, `zip_with` and `map2` to `map5` take arrays of one length.", \
      "entry main : []i64 = map2 (+) (iota 3) (iota 4)\n", \
      "entry main : []i64 = map2 (+) (iota 3) (take 3 (iota 4))\n") \
    X(RUN_STREAMS, 1010, RUNTIME, "streams of different lengths side by side", \
      "Sequences that are visited together must be equally long. That they are not is found at the end of the " \
      "shorter one, or before anything runs where the lengths are known.", \
      "entry main : i64 = fold_seq (+) 0 (zip_with_seq (*) (rows (iota 3)) (rows (iota 4)))\n", \
      "entry main : i64 = fold_seq (+) 0 (zip_with_seq (*) (rows (iota 4)) (rows (iota 4)))\n") \
    X(RUN_PLACES, 1011, RUNTIME, "not one place for each value", \
      "`permute`, `scatter` and `permute_seq` take indices and values of the same nesting: one index for each " \
      "value.", \
      "entry main : []i64 = scatter (replicate 4 0) (iota 3) (iota 2)\n", \
      "entry main : []i64 = scatter (replicate 4 0) (iota 2) (iota 2)\n") \
    X(RUN_COUNT, 1012, RUNTIME, "an array of a negative number of elements", \
      "`iota`, `replicate` and `generate` take lengths of 0 or more, and a product of less than 2^63.", \
      "entry main : []i64 = let n = length (iota 3) in iota (n - 4)\n", \
      "entry main : []i64 = let n = length (iota 3) in iota (max 0 (n - 4))\n") \
    X(RUN_UNFLATTEN, 1013, RUNTIME, "elements that do not fill the new shape", \
      "`unflatten n m xs` and `reshape` keep all elements: n times m is the length of xs.", \
      "entry main : [][]i64 = unflatten 2 3 (iota 5)\n", \
      "entry main : [][]i64 = unflatten 2 3 (iota 6)\n") \
    X(RUN_EMPTY, 1014, RUNTIME, "a fold of nothing without a neutral element", \
      "`fold1` of an empty array has no value.", \
      "entry main : i64 = fold1 (+) (filter (> 5) (iota 3))\n", \
      "entry main : i64 = fold (+) 0 (filter (> 5) (iota 3))\n") \
    X(RUN_GROUPS, 1015, RUNTIME, "a negative number of groups", \
      "`group_seq` and `group_map_seq` take how many groups there are; they are numbered from 0.", \
      "entry main : seq i64 =\n" \
      "  let n = length (iota 3)\n" \
      "  in group_seq (n - 4) (\\x -> [x]) (rows (iota 3)) (\\_ ys -> fold_seq (+) 0 ys)\n", \
      "entry main : seq i64 =\n" \
      "  let n = length (iota 3)\n" \
      "  in group_seq n (\\x -> [x]) (rows (iota 3)) (\\_ ys -> fold_seq (+) 0 ys)\n") \
    X(RUN_GROUPS_FIT, 1016, RUNTIME, "more results of groups than fit into memory", \
      "A program that keeps the results of all groups needs memory for them. Give workers more memory, or fold " \
      "the results.", \
      NULL, NULL) \
    X(RUN_ROWS_DIFFER, 1017, RUNTIME, "rows that differ in length where they may not", \
      "`transpose`, and `fft` over several axes, need rows of one length. `map fft` transforms rows of any " \
      "lengths.", \
      "entry main : [][]i64 = transpose (map (\\i -> iota i) (1...3))\n", \
      "entry main : [][]i64 = transpose (map (\\_ -> iota 3) (1...3))\n") \
    X(RUN_LAW, 1018, RUNTIME, "two ways of a program that give different results", \
      "`gridloom test` and `eval --laws` cut streams at random and compare: the operator of `fold_seq` and `scan_seq` must be associative " \
      "with its neutral element, and the step and merge of `reduce_seq` keep their laws (docs/language.md). Workers " \
      "cut streams as it suits them, so such a program would give other results from run to run. They also call the lifted " \
      "versions of functions, which must give for each row what the function gives.", \
      "entry main : f64 = fold_seq (-) 0 (rows (map f64 (1...9)))\n", \
      "entry main : f64 = fold_seq (+) 0 (rows (map (\\x -> - f64 x) (1...9)))\n") \
    X(RUN_GROUP_MEMBERS, 1019, RUNTIME, "a group that makes another number of elements", \
      "The body of `group_map_seq` gives one element for each of the group.", \
      NULL, NULL)
/* clang-format on */

#endif

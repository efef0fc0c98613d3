# The one way in which what is refused, what is not, and the headers before both are compiled. The
# language of messages is fixed, for the quotes around names differ.
set(compile ${CMAKE_COMMAND} -E env LC_ALL=C
  ${COMPILER} -std=c++20 -Wall -Wextra -Werror=unused-result -I${INCLUDE} ${FLAGS})

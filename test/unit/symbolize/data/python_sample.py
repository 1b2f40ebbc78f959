"""Code whose line tables have all kinds of entries. It is compiled but never run, by Python 3.9 and later."""
import contextlib


def plain(first, second=(1,
                         2)):
    total = first
    for item in second:
        if item:
            total += item
        else:
            total -= (
                item +

                first)
    return total


def backwards(value):
    return [
        value,
        value(
            1,
            2,
        ), (value
            .attribute), value]; value = (
                lambda inner: inner +
                value)


def caught(call):
    try:
        with contextlib.suppress(KeyError), \
             contextlib.suppress(ValueError):
            call()
    except (TypeError,
            OSError) as error:
        raise RuntimeError from error
    finally:
        call(


            1)
    while True:
        yield call
        if call(2): break


def far():
    first = 1











































































































































    return first











































































































































































































































































# This line compiles to more code than one entry of a line table can describe.
long = [plain(0), plain(1), plain(2), plain(3), plain(4), plain(5), plain(6), plain(7), plain(8), plain(9), plain(10), plain(11), plain(12), plain(13), plain(14), plain(15), plain(16), plain(17), plain(18), plain(19), plain(20), plain(21), plain(22), plain(23), plain(24), plain(25), plain(26), plain(27), plain(28), plain(29), plain(30), plain(31), plain(32), plain(33), plain(34), plain(35), plain(36), plain(37), plain(38), plain(39), plain(40)]


@contextlib.contextmanager
def decorated(*arguments, **named):
    yield {key: value for key, value in named.items()
           if key}, (value for value in
                     arguments)


class Outer:
    field: int = 1

    class Inner:
        def method(self, other):
            return (self
                    == other
                    != self)

    async def wait(self, others):
        async with others as one:
            async for other in one:
                await other(
                    self)
        return [item async for item in others]

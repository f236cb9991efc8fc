class Model:
    """Calls itself for its layers, as modules do."""

    def __init__(self, layers=0):
        self.layers = [Model() for _ in range(layers)]

    def __call__(self, number):
        for layer in self.layers:
            number = layer(number)
        return self.forward(number)

    def forward(self, number):
        if number < 0:
            raise ValueError("negative: %d" % number)
        return number + 1

    @staticmethod
    def build(layers):
        return Model(layers)

    @classmethod
    def default(cls):
        return cls(2)

    @property
    def size(self):
        return len(self.layers)

    def __getitem__(self, at):
        return self.layers[at]


class Deeper(Model):
    def forward(self, number):
        return super().forward(number) * 2


class Loader:
    def __init__(self, batches, batch=(0,) * 32):
        self.left = batches
        self.batch = batch

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.batch


class Optimizer:
    def step(self):
        with Record("Optimizer.step#%s.step" % type(self).__name__):
            return None

    def update(self):
        return None


class Adam(Optimizer):
    pass


class Momentum(Optimizer):
    pass


class Nesterov(Momentum):
    def update(self):
        return super().update()


class Record:
    """A named scope of the framework, in which it tells its own profiler what it does."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return self.leave()

    def leave(self):
        return None


class Scaler:
    def step(self, optimizer):
        return optimizer.step()


class Tensor:
    def __init__(self, is_cpu=True):
        self.is_cpu = is_cpu

    def to(self, is_cpu):
        return self if is_cpu == self.is_cpu else Tensor(is_cpu)


class Trainer:
    def batches(self, count):
        """A generator."""
        for i in range(count):
            yield i

    async def fetch(self):
        return 7

    async def stream(self, count):
        """An asynchronous generator."""
        for i in range(count):
            yield i

    def fails(self, at):
        """A generator that breaks down in the middle."""
        for i in range(5):
            yield 1 // (at - i)

    async def fails_later(self):
        raise KeyError("later")

    def factorial(self, n):
        return n * self.factorial(n - 1) if n else 1

    def next_or_none(self, iterator):
        return next(iterator, None)


def collate(items):
    """Makes a batch of items."""
    return list(items)


def ready():
    return collate(range(3))

"""The demo from the sources on Debian 12, 13 and testing, as they come, by root and by another user: with the packages
that tools/setup installs it compiles without a warning and trains, and no test is compiled for it."""

import glob
import os
import unittest

from bare import USER, BareTest


class Demo(BareTest):
    def test_root_and_another_user(self):
        self.check_each(self.check)

    def check(self, system, _suite):
        system.run("apt-get -qq update && apt-get -qq install -y --no-install-recommends ccache"
                   " && mkdir -m 777 /ccache && echo cache_dir=/ccache >/etc/ccache.conf"
                   " && echo umask=000 >>/etc/ccache.conf")
        for user in (0, USER):  # the second finds the packages that root has installed
            system.copy_sources(user)
            said = system.run("cd /src && make demo WERROR=true", user)
            self.assertIn("Both runs are in", said)
            made = {os.path.basename(path) for path in glob.glob(system.path("src/build/release/*"))
                    if os.path.isfile(path)}
            self.assertIn("stepscope", made)
            self.assertEqual([name for name in made if name.startswith(("test_", "fuzz_"))], [])


if __name__ == "__main__":
    unittest.main()

"""Scrapy's spider of the bench: one item a URL, with status and digest; as many at once as the others have."""

import hashlib

import scrapy


class Spider(scrapy.Spider):
    name = "bench"
    custom_settings = {
        "CONCURRENT_REQUESTS": 200,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 200,
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
        "DOWNLOAD_DELAY": 0,
        "RETRY_ENABLED": False,
        "REACTOR_THREADPOOL_MAXSIZE": 20,
    }

    async def start(self):
        with open(self.urls) as lines:
            for line in lines:
                yield scrapy.Request(line.strip())

    def parse(self, response):
        yield {"url": response.url, "status": response.status, "sha256": hashlib.sha256(response.body).hexdigest()}
